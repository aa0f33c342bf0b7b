/**
 * Brings what the tests need and npm cannot. On Debian as root it is installed, elsewhere one line says what to install.
 * redis-server is needed also where REDIS_URL names a Redis: some tests stop theirs. Runs before the tests, with any Node.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NEEDED = [
  { command: 'redis-server', package: 'redis-server' },
  { command: 'openssl', package: 'openssl' },
  { command: 'nginx', package: 'nginx' },
  { command: 'slowhttptest', package: 'slowhttptest' },
  { command: 'python3', package: 'python3' },
  { command: 'wrk', package: 'wrk' },
  { command: 'chromium', package: 'chromium' },
]
/** Debian keeps daemons where only root looks. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']

function found(command) {
  return FOLDERS.some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const missing = NEEDED.filter(({ command }) => !found(command)).map((need) => need.package)

if (missing.length > 0) {
  const list = missing.join(', ')
  const canInstall = process.getuid?.() === 0 && found('apt-get')
  if (!canInstall) {
    console.error(
      `The tests need ${list}: install what is missing with your package manager (Debian: apt-get install ${missing.join(' ')}).`,
    )
    process.exit(1)
  }
  // The run level keeps apt from starting the daemons, which would take their usual ports.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...missing],
  ]) {
    const { status } = spawnSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env })
    if (status !== 0) {
      console.error(`apt-get ${args.join(' ')} failed with ${status}.`)
      process.exit(1)
    }
  }
}
