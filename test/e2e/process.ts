import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { atEnd } from '../setup/at-end.ts'

/** The gateway as a process of its own, started as an operator starts it. */
export interface GatewayProcess {
  readonly child: ChildProcess
  /** Everything written to both outputs so far. */
  output(): string
  /** The lines of the standard output so far, each of which must be JSON. */
  lines(): Record<string, unknown>[]
  /** Its exit code, `null` where a signal ended it, once all its output has been read. */
  readonly ended: Promise<number | null>
  /** Sends a signal and waits for the end. @returns the exit code, `null` where the signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** @param cwd folder of the build to start, by default this one */
export async function spawnGateway(
  file: string,
  url: string,
  env: Record<string, string> = {},
  cwd = process.cwd(),
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['src/main.ts', 'serve', '-c', file], { cwd, env: { ...process.env, ...env } })
  const chunks: string[] = []
  const logged: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk.toString())
    logged.push(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  // Unlike `exit` it waits until everything that was written has been read.
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const gateway: GatewayProcess = {
    child,
    ended,
    output: () => chunks.join(''),
    lines: () => {
      const whole = Buffer.concat(logged).toString()
      const lines = whole.slice(0, whole.lastIndexOf('\n') + 1).split('\n')
      return lines.slice(0, -1).map((line) => JSON.parse(line) as Record<string, unknown>)
    },
    end: async (signal) => {
      child.kill(signal)
      return ended
    },
  }
  atEnd(() => (child.exitCode === null && child.signalCode === null ? gateway.end('SIGKILL') : null))
  for (let tries = 0; tries < 2000; tries++) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}: ${gateway.output()}`)
    const response = await fetch(url).catch(() => null)
    if (response !== null) return gateway
    await sleep(25)
  }
  child.kill('SIGKILL')
  throw new Error(`the gateway did not listen on ${url}: ${gateway.output()}`)
}
