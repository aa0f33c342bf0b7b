import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { accepts, freePort } from './redis.ts'

export interface Nginx {
  readonly port: number
  stop(): Promise<void>
}

/**
 * The nginx of the system in a folder of its own, on a free port of the loopback.
 * @param server what stands in its `server` block
 */
export async function startNginx(server: string): Promise<Nginx> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-nginx-'))
  // Its workers are somebody else if we are root, and keep long bodies here.
  await chmod(folder, 0o755)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  const config = `
daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 256; }
http { access_log off; ${temporary.join(' ')} server { listen 127.0.0.1:${port}; ${server} } }`
  await writeFile(join(folder, 'nginx.conf'), config)
  const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` }
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore', env })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 1000) throw new Error('nginx did not start')
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
