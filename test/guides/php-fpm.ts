import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { accepts, freePort } from '../setup/redis.ts'

export interface Php {
  readonly port: number
  /** With `index.php`, readable by the user of nginx too. */
  readonly root: string
  stop(): Promise<void>
}

/** PHP-FPM of the system, which runs one script. @param folder beside the script */
export async function startPhp(script: string, folder: string): Promise<Php> {
  const port = await freePort()
  const root = mkdtempSync(join(tmpdir(), 'tollgate-php-'))
  chmodSync(root, 0o755)
  mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'index.php'), script)
  const file = join(root, 'fpm.conf')
  const pool = `[www]\nlisten = 127.0.0.1:${port}\npm = static\npm.max_children = 2\nuser = nobody\ngroup = nogroup\n`
  writeFileSync(file, `[global]\ndaemonize = no\nerror_log = /dev/null\n${pool}`)
  const child = spawn(programOfSystem(), ['-F', '-y', file], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 1000) throw new Error(`php-fpm did not start: ${child.exitCode}`)
    await sleep(25)
  }
  return {
    port,
    root,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(root, { recursive: true })
    },
  }
}

/** Debian's has its version in its name. */
function programOfSystem(): string {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
    const [name] = namesIn(folder).filter((each) => each.startsWith('php-fpm'))
    if (name !== undefined) return join(folder, name)
  }
  throw new Error('php-fpm is not there: apt-get install php-fpm')
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
