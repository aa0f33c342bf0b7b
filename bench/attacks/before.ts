import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()

/** A commit of this repository, in a folder that goes with the run. */
export interface Before {
  /** As it is printed, such as `b3e31377`. */
  readonly commit: string
  readonly checkout: string
}

/**
 * Writes the program of a commit into a folder. It runs with the libraries of this checkout.
 * @param folder empty
 * @throws Error if git does not know the commit
 */
export function checkoutOf(commit: string, folder: string): Before {
  const short = git('rev-parse', '--short', `${commit}^{commit}`)
  const archive = join(folder, 'source.tar')
  git('archive', '-o', archive, short, 'src', 'config', 'package.json')
  execFileSync('tar', ['-xf', archive, '-C', folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return { commit: short, checkout: folder }
}

/** The commit that the program of this checkout comes from, with a remark if its files differ from it. */
export function commitOfNow(): string {
  const changed = git('status', '--porcelain', '--', 'src')
  return `${git('log', '-1', '--format=%h', '--', 'src')}${changed === '' ? '' : ' with changes'}`
}
