import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TOOLS_FOLDER } from '../setup/deploy-tools.ts'

/** Where this build lies, as a path without a slash at its end. */
export const HERE = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
/** How much older the other version is, where no tag names a release. */
const AGE_SECONDS = 86_400

/** A version of this program that can be started. */
export interface Version {
  /** Of its commit, twelve digits. */
  readonly commit: string
  /** Its folder, with its modules. */
  readonly folder: string
}

/** It came with the present form of what the stores hold, which no build before it reads. */
const FIRST_FILE = 'src/store/sqlite/schema.sql'

/**
 * The version to upgrade from: `UPGRADE_FROM`, else the latest release that has a tag, else the commit that was the last one a day
 * before this one, or the first whose stores this one reads. It is kept in $TOLLGATE_TOOLS.
 * @throws Error if the history does not have it
 */
export function earlierVersion(): Version {
  const commit = git('rev-parse', '--verify', `${wanted()}^{commit}`).slice(0, 12)
  const folder = join(TOOLS_FOLDER, `tollgate-${commit}`)
  if (!existsSync(folder)) take(commit, folder)
  return { commit, folder }
}

function wanted(): string {
  const named = process.env.UPGRADE_FROM
  if (named !== undefined && named !== '') return named
  const [release] = git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')
  if (release) return release
  const before = Number(git('log', '-1', '--format=%ct')) - AGE_SECONDS
  const old = git('log', '-1', '--format=%H', `--before=@${before}`)
  if (old !== '' && git('ls-tree', old, FIRST_FILE) !== '') return old
  const first = git('log', '--diff-filter=A', '--format=%H', '--', FIRST_FILE).split('\n').at(-1)
  if (!first) throw new Error('The history has no commit to upgrade from: fetch it, or name one in UPGRADE_FROM')
  return first
}

/** The files of a commit, and its modules: those of this build, if the lock file is the same. */
function take(commit: string, folder: string): void {
  const half = `${folder}.half`
  rmSync(half, { recursive: true, force: true })
  mkdirSync(half, { recursive: true })
  const archive = execFileSync('git', ['archive', commit], { cwd: HERE, maxBuffer: 1024 ** 3 })
  execFileSync('tar', ['-x', '-C', half], { input: archive })
  const lockIn = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lockIn(half) === lockIn(HERE)) symlinkSync(join(HERE, 'node_modules'), join(half, 'node_modules'))
  else execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: half })
  renameSync(half, folder)
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: HERE, encoding: 'utf8' }).trim()
}
