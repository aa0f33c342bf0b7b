import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** The gateway as a process of its own, started as an operator starts it. */
export interface GatewayProcess {
  readonly child: ChildProcess
  /** Everything written to both outputs so far. */
  output(): string
  /** Sends a signal and waits for the end. @returns the exit code, `null` where the signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export async function spawnGateway(
  file: string,
  url: string,
  env: Record<string, string> = {},
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['src/main.ts', 'serve', '-c', file], { env: { ...process.env, ...env } })
  const chunks: string[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  const exited = once(child, 'exit') as Promise<[number | null]>
  const gateway: GatewayProcess = {
    child,
    output: () => chunks.join(''),
    end: async (signal) => {
      child.kill(signal)
      return (await exited)[0]
    },
  }
  for (let tries = 0; tries < 400; tries++) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}: ${gateway.output()}`)
    const answer = await fetch(url).catch(() => null)
    if (answer !== null) return gateway
    await sleep(25)
  }
  child.kill('SIGKILL')
  throw new Error(`the gateway did not listen on ${url}: ${gateway.output()}`)
}
