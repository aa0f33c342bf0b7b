import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { accepts, freePort } from '../setup/redis.ts'
import type { Service } from './service.ts'

/** Where a program is to listen, and a folder of its own that others may read. */
export interface Place {
  readonly port: number
  readonly folder: string
  write(name: string, text: string): void
}

export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** File for its standard output. Default nothing */
  readonly output?: string
}

/** Starts a program in its folder, and waits until it takes connections. @param say what to start at a place */
export async function startProgram(say: (place: Place) => Program): Promise<Service> {
  const port = await freePort()
  const folder = tempFolder()
  chmodSync(folder, 0o755)
  const { command, args, env, output } = say({
    port,
    folder,
    write: (name, text) => writeFileSync(join(folder, name), text),
  })
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', output === undefined ? 'ignore' : openSync(output, 'a'), 'inherit'],
  })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 4000) throw new Error(`${command} did not start: ${child.exitCode}`)
    await sleep(25)
  }
  return {
    port,
    stop: atEnd(async () => {
      child.kill('SIGTERM')
      await exited
    }),
  }
}
