import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { TOOLS_FOLDER } from './deploy-tools.ts'

/**
 * What the tests of the image, the systemd unit and the Compose file need: installed where we are root on Debian, elsewhere one
 * line says what is missing. Run before those tests: `node test/setup/deploy-image-tools.ts`.
 */

const NEEDED = [
  { command: 'buildah', package: 'buildah' },
  { command: 'mmdebstrap', package: 'mmdebstrap' },
  { command: 'runc', package: 'runc' },
  { command: 'systemd-analyze', package: 'systemd' },
]

/** Debian keeps some where only root looks. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']

function found(command: string): boolean {
  return FOLDERS.some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function apt(...args: string[]): void {
  // The run level keeps apt from starting daemons.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const { status } = spawnSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env })
  if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed with ${status}`)
}

/** The library that Docker Compose reads its files with, as a program. Built with Go, into a folder outside the repository. */
const COMPOSE = 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2'
const COMPOSE_FOLDER = join(TOOLS_FOLDER, 'compose-go-2.16.2')

/** @returns the path of the program that reads Compose files. @throws Error that says how to get it */
export function composeReader(): string {
  const path = join(COMPOSE_FOLDER, 'cmd')
  if (!existsSync(path)) throw new Error(`${path} is not there: run node test/setup/deploy-image-tools.ts`)
  return path
}

/** @throws Error that says what to install where that cannot be done here */
function installImageTools(): void {
  const missing = NEEDED.filter(({ command }) => !found(command)).map((need) => need.package)
  if (missing.length > 0) {
    if (process.getuid?.() !== 0 || !found('apt-get')) {
      const list = missing.join(' ')
      throw new Error(
        `The tests of the image and of the unit need root on Debian, and ${list}: apt-get install ${list}`,
      )
    }
    apt('update')
    apt('install', '-y', '--no-install-recommends', ...missing)
  }
  if (existsSync(join(COMPOSE_FOLDER, 'cmd'))) return
  if (!found('go')) throw new Error('The test of the Compose file needs Go: install Go 1.26.')
  const env = { ...process.env, GOBIN: COMPOSE_FOLDER }
  const { status } = spawnSync('go', ['install', COMPOSE], { stdio: ['ignore', 'ignore', 'inherit'], env })
  if (status !== 0) throw new Error(`go install ${COMPOSE} failed with ${status}`)
}

if (import.meta.main) {
  try {
    installImageTools()
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
