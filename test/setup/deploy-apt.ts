/**
 * What the tests of the rules and dashboards need and npm cannot bring: Prometheus and its promtool. What is on the PATH is
 * used; else the two programs are taken out of Debian's package into $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools, since to
 * install the package would start a server. `node test/setup/deploy-apt.ts`.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { TOOLS_FOLDER } from './deploy-tools.ts'

const PROGRAMS = ['prometheus', 'promtool'] as const

/** @returns the path of a program. @throws Error that says how to get it */
export function prometheusTool(program: (typeof PROGRAMS)[number]): string {
  const path = find(program)
  if (path === undefined) throw new Error(`${program} is not there: run node test/setup/deploy-apt.ts`)
  return path
}

/** Brings what is missing. @throws Error that says what to install */
export function installPrometheus(): void {
  if (PROGRAMS.every((program) => find(program) !== undefined)) return
  if (find('apt-get') === undefined || find('dpkg-deb') === undefined) {
    throw new Error('The tests of rules and dashboards need prometheus and promtool (2.42 or newer) on the PATH.')
  }
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-prometheus-'))
  try {
    download(folder)
    const [file] = globSync('prometheus_*.deb', { cwd: folder })
    if (file === undefined) throw new Error('apt-get download prometheus left no package')
    execFileSync('dpkg-deb', ['-x', file, 'files'], { cwd: folder })
    mkdirSync(TOOLS_FOLDER, { recursive: true })
    for (const program of PROGRAMS) cpSync(join(folder, 'files/usr/bin', program), join(TOOLS_FOLDER, program))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The lists of a new machine are old or not there. */
function download(cwd: string): void {
  if (apt(cwd, 'download', 'prometheus') || (apt(cwd, 'update') && apt(cwd, 'download', 'prometheus'))) return
  throw new Error('apt-get download prometheus failed: as root, run apt-get update.')
}

function apt(cwd: string, ...args: string[]): boolean {
  // As ourselves: the user of apt may not write here, which it would only complain of.
  const all = ['-qq', '-o', 'APT::Sandbox::User=root', ...args]
  return spawnSync('apt-get', all, { cwd, stdio: 'ignore' }).status === 0
}

function find(program: string): string | undefined {
  const own = join(TOOLS_FOLDER, program)
  if (existsSync(own)) return own
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, program)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

if (import.meta.main) {
  try {
    installPrometheus()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
