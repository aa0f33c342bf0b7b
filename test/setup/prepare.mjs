/**
 * Brings what the tests need and npm cannot. On Debian as root one line says what is missing and it is installed, elsewhere one line says what to install.
 * redis-server is needed also where REDIS_URL names a Redis: some tests stop theirs. Runs before the tests, with any Node.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Each program, and the packages of Debian that bring it. */
const NEEDED = {
  'redis-server': ['redis-server'],
  nginx: ['nginx'],
  haproxy: ['haproxy'],
  chromium: ['chromium'],
  curl: ['curl'],
  openssl: ['openssl'],
  python3: ['python3'],
  script: ['bsdutils'],
  cc: ['gcc', 'libc6-dev'],
  jq: ['jq'],
  slowhttptest: ['slowhttptest'],
  wrk: ['wrk'],
  ruby: ['ruby', 'ruby-rack'],
  // Debian's has its version in its name.
  'php-fpm*': ['php-fpm'],
}
/** Debian keeps daemons where only root looks. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']

function found(command) {
  return FOLDERS.some((folder) => {
    try {
      if (command.endsWith('*')) return readdirSync(folder).some((name) => name.startsWith(command.slice(0, -1)))
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const missing = Object.entries(NEEDED).flatMap(([command, packages]) => (found(command) ? [] : packages))

if (missing.length > 0) {
  const list = missing.join(', ')
  const canInstall = process.getuid?.() === 0 && found('apt-get')
  if (!canInstall) {
    console.error(
      `The tests need ${list}: install what is missing with your package manager (Debian: apt-get install ${missing.join(' ')}).`,
    )
    process.exit(1)
  }
  console.log(`The tests need ${list}: apt-get installs it now.`)
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
