/**
 * What the tests of the guides need and npm cannot bring, in exact versions and from package registries only: Django and Werkzeug (PyPI), a service
 * in Spring Boot (Maven Central) and oauth2-proxy (a Go module). They are kept in $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools.
 * `node test/setup/guides-tools.ts` makes what is missing there; with everything there it needs no tool.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS_FOLDER } from './deploy-tools.ts'

const PYTHON = ['django==5.2.19', 'gunicorn==27.0.1', 'werkzeug==3.1.9']
const OAUTH2_PROXY = 'github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6'
const SPRING = 'test/guides/installed/spring-service'

interface Tool {
  /** The file that the tests run. */
  readonly file: string
  /** What makes it, with the word by which it says that it is there. */
  readonly made: { readonly by: string; readonly asked: string; readonly of: string }
  make(folder: string): void
}

const TOOLS = {
  gunicorn: {
    file: join(`python-${digest(PYTHON.join())}`, 'bin/gunicorn'),
    made: { by: 'python3', asked: '--version', of: 'Python 3.10 or newer with venv' },
    make: (folder) => {
      run('python3', '-m', 'venv', folder)
      run(join(folder, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', ...PYTHON)
    },
  },
  spring: {
    file: join(`spring-${digest(textOf(SPRING))}`, 'shop.jar'),
    made: { by: 'mvn', asked: '--version', of: 'Maven with a JDK of 17 or newer' },
    make: (folder) => run('mvn', '-q', '-B', '-f', join(SPRING, 'pom.xml'), `-Dshop.target=${folder}`, 'package'),
  },
  'oauth2-proxy': {
    file: join(`oauth2-proxy-${digest(OAUTH2_PROXY)}`, 'oauth2-proxy'),
    made: { by: 'go', asked: 'version', of: 'Go 1.26' },
    make: (folder) =>
      execFileSync('go', ['install', OAUTH2_PROXY], {
        env: { ...process.env, GOBIN: folder, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'auto' },
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
  },
} satisfies Record<string, Tool>

/** @returns the path of what the tests run. @throws Error that says how to get it */
export function guideTool(name: keyof typeof TOOLS): string {
  const path = join(TOOLS_FOLDER, TOOLS[name].file)
  if (!existsSync(path)) throw new Error(`${path} is not there: run node test/setup/guides-tools.ts`)
  return path
}

/** Makes what is missing. @throws Error that says what that takes */
function makeTools(): void {
  const missing = Object.values<Tool>(TOOLS).filter(({ file }) => !existsSync(join(TOOLS_FOLDER, file)))
  const wanted = missing.filter(({ made }) => spawnSync(made.by, [made.asked], { stdio: 'ignore' }).status !== 0)
  if (wanted.length > 0) {
    throw new Error(`The tests of the guides need ${wanted.map(({ made }) => made.of).join(', ')}.`)
  }
  for (const tool of missing) make(tool)
}

/** What an earlier run left half made is made anew. */
function make({ file, make }: Tool): void {
  const folder = join(TOOLS_FOLDER, file.split('/')[0] ?? '')
  const start = performance.now()
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(TOOLS_FOLDER, { recursive: true })
  make(folder)
  console.log(`${file}: ${((performance.now() - start) / 1000).toFixed(0)} s`)
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
}

function textOf(folder: string): string {
  const files = globSync('**/*.{xml,java}', { cwd: folder }).sort()
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n')
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

if (import.meta.main) {
  try {
    makeTools()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
