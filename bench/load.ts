import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LOADING_CORE, run } from './processes.ts'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const CONNECTIONS = 64
/** The connections at a fixed rate. Few have a request under way. The others are for moments when the server stalls. */
const OPEN_CONNECTIONS = 256

export interface Load {
  readonly port: number
  /** File with one request on each line, taken in turn. */
  readonly requests: string
  /** Default 64, and 256 at a fixed rate. */
  readonly connections?: number
  /** Bytes of the body of each request. Default 0. */
  readonly body?: number
}

export interface Saturation {
  readonly requests: number
  /** Requests a second. */
  readonly rate: number
  /** Responses other than 2xx and 3xx. */
  readonly refused: number
  /** Connections that failed, broke off or timed out. */
  readonly broken: number
  /** Milliseconds. */
  readonly p99: number
}

/** How many requests of each file were sent. The next load goes on after them, so it does not repeat the same few. */
const sent = new Map<string, number>()

/** Sends as many requests as the connections allow. Each connection sends its next request after its response. */
export async function saturate(
  { port, requests, connections = CONNECTIONS, body = 0 }: Load,
  seconds: number,
): Promise<Saturation> {
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', file('wrk.lua')]
  const before = sent.get(requests) ?? 0
  const command = ['wrk', ...options, `http://127.0.0.1:${port}`, '--', requests, `${before}`, `${body}`]
  const text = await run(command, LOADING_CORE, (seconds + 120) * 1000)
  const result = resultIn<Omit<Saturation, 'rate'> & { microseconds: number }>(text)
  sent.set(requests, before + result.requests)
  return { ...result, rate: (result.requests / result.microseconds) * 1e6, p99: result.p99 / 1000 }
}

export interface Latency {
  readonly requests: number
  /** Responses other than 2xx, and requests without a response. */
  readonly failed: number
  /** The failed requests that got 429. */
  readonly refused: number
  /** Milliseconds from the moment at which a request was due until its response was read. */
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  /** 99th percentile of how late the generator itself sent while a connection was free, in milliseconds. */
  readonly late99: number
}

export interface OpenLoop extends Load {
  /** Requests a second, on average. */
  readonly rate: number
  /** The number of all requests. */
  readonly count: number
  /** How many of the first requests are not measured. Default 0. */
  readonly skip?: number
}

/** Sends at a fixed rate, whether or not earlier requests have their response. */
export type OpenLoopLoad = (load: OpenLoop) => Promise<Latency>

/** Compiles the generator. */
export function createOpenLoop(folder: string): OpenLoopLoad {
  const program = join(folder, 'open-loop')
  execFileSync('cc', ['-O2', '-o', program, file('open-loop.c'), '-lm'])
  return async ({ port, requests, connections = OPEN_CONNECTIONS, rate, count, skip = 0 }) => {
    const numbers = [rate, count, skip, connections].map(String)
    return resultIn(await run([program, `${port}`, requests, ...numbers], LOADING_CORE, (count / rate) * 1000 + 20_000))
  }
}

function resultIn<T>(text: string): T {
  const line = /^RESULT (.*)$/m.exec(text)?.[1]
  if (line === undefined) throw new Error(`no result in: ${text}`)
  return JSON.parse(line) as T
}
