import { fileURLToPath } from 'node:url'
import { LOADING_CORE, run } from './processes.ts'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export interface Target {
  readonly port: number
  readonly path: string
  /** File with one credential a line; requests take them in turn. */
  readonly credentials: string
}

export interface Saturation {
  readonly requests: number
  /** Requests a second. */
  readonly rate: number
  /** Answers other than 2xx and 3xx. */
  readonly refused: number
  /** Connections that failed, broke off or timed out. */
  readonly broken: number
}

/** As many requests as 64 connections give, each sending its next request when it has its answer. */
export async function saturate({ port, path, credentials }: Target, seconds: number): Promise<Saturation> {
  const command = ['wrk', '-t1', '-c64', `-d${seconds}s`, '-s', file('wrk.lua'), `http://127.0.0.1:${port}`]
  const text = await run([...command, '--', path, credentials], LOADING_CORE, (seconds + 15) * 1000)
  const result = resultIn<{ requests: number; microseconds: number; refused: number; broken: number }>(text)
  return { ...result, rate: (result.requests / result.microseconds) * 1e6 }
}

export interface Latency {
  readonly requests: number
  /** Answers other than 2xx, and requests without an answer. */
  readonly failed: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

/** A fixed number of requests a second, whether or not the earlier ones have been answered. */
export async function atRate({ port, path, credentials }: Target, rate: number, count: number): Promise<Latency> {
  const command = [process.execPath, file('fixed-rate.ts'), String(port), path, credentials, String(rate)]
  const limitMs = (count / rate) * 1000 + 15_000
  return resultIn(await run([...command, String(count)], LOADING_CORE, limitMs))
}

function resultIn<T>(text: string): T {
  const line = /^RESULT (.*)$/m.exec(text)?.[1]
  if (line === undefined) throw new Error(`no result in: ${text}`)
  return JSON.parse(line) as T
}
