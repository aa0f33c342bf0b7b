/** Tools that npm cannot bring, made once and kept in $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS_FOLDER } from './deploy-tools.ts'

export interface KeptTool {
  /** The file that the tests run, in a folder whose name changes with what it is made of. */
  readonly file: string
  /** What makes it, with the word by which it says that it is there. */
  readonly made: { readonly by: string; readonly asked: string; readonly of: string }
  make(folder: string): void
}

/** @returns the path of what the tests run; `null` if it is not there */
export function keptTool({ file }: KeptTool): string | null {
  const path = join(TOOLS_FOLDER, file)
  return existsSync(path) ? path : null
}

export const isMakeable = ({ made }: KeptTool): boolean =>
  spawnSync(made.by, [made.asked], { stdio: 'ignore' }).status === 0

/** What an earlier run left half made is made anew. */
export function makeTool({ file, make }: KeptTool): void {
  const folder = join(TOOLS_FOLDER, file.split('/')[0] ?? '')
  const start = performance.now()
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(TOOLS_FOLDER, { recursive: true })
  make(folder)
  console.log(`${file}: ${((performance.now() - start) / 1000).toFixed(0)} s`)
}

/** A virtual environment of Python. @param packages each with its version */
export function makePython(folder: string, packages: readonly string[]): void {
  run('python3', '-m', 'venv', folder)
  run(join(folder, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', ...packages)
}

/** @param program of a Go module, with its version */
export function installGo(folder: string, program: string): void {
  execFileSync('go', ['install', program], {
    env: { ...process.env, GOBIN: folder, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'auto' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

export function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
}

/** All files below a folder that match, as one text. */
export function textOf(folder: string, pattern: string): string {
  const files = globSync(pattern, { cwd: folder }).sort()
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n')
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
