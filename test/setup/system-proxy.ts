import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atEnd, tempFolder } from './at-end.ts'
import { accepts, freePort } from './redis.ts'

/** A proxy of the system, in a folder of its own, on a free port of the loopback. */
export interface SystemProxy {
  readonly port: number
  stop(): Promise<void>
}

export interface ProxyProgram {
  readonly command: 'nginx' | 'haproxy'
  /** @param file with the configuration, in the folder */
  readonly args: (folder: string, file: string) => readonly string[]
  readonly config: (port: number, folder: string) => string
}

/** @returns once it takes connections */
export async function startSystemProxy({ command, args, config }: ProxyProgram): Promise<SystemProxy> {
  const port = await freePort()
  const folder = tempFolder()
  // Its workers are somebody else if we are root, and keep long bodies here.
  await chmod(folder, 0o755)
  const file = join(folder, `${command}.conf`)
  await writeFile(file, config(port, folder))
  const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` }
  const child = spawn(command, args(folder, file), { stdio: 'ignore', env })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 1000) throw new Error(`${command} did not start`)
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
