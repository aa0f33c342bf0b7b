import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { accepts, freePort } from './redis.ts'

export interface Haproxy {
  readonly port: number
  stop(): Promise<void>
}

/**
 * The HAProxy of the system in a folder of its own, which passes connections on from a free port of the loopback.
 * @param lines of its `listen` section, beside `bind`
 */
export async function startHaproxy(...lines: readonly string[]): Promise<Haproxy> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-haproxy-'))
  const config = `
global
  maxconn 200
defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen gateway
  bind 127.0.0.1:${port}
${lines.map((line) => `  ${line}\n`).join('')}`
  await writeFile(join(folder, 'haproxy.cfg'), config)
  const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` }
  const child = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore', env })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 1000) throw new Error('HAProxy did not start')
    await sleep(25)
  }
  return {
    port,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
