import { mkdirSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { startProgram } from './program.ts'
import type { Service } from './service.ts'

export interface Php extends Service {
  /** With `index.php`, readable by the user of nginx too. */
  readonly root: string
}

/** PHP-FPM of the system, which runs one script. @param folder beside the script */
export async function startPhp(script: string, folder: string): Promise<Php> {
  let root = ''
  const service = await startProgram((place) => {
    root = place.folder
    mkdirSync(join(root, folder), { recursive: true })
    place.write('index.php', script)
    const pool = `listen = 127.0.0.1:${place.port}\npm = static\npm.max_children = 2\nuser = nobody\ngroup = nogroup\n`
    place.write('fpm.conf', `[global]\ndaemonize = no\nerror_log = /dev/null\n[www]\n${pool}`)
    return { command: programOfSystem(), args: ['-F', '-y', join(root, 'fpm.conf')] }
  })
  return { ...service, root }
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
