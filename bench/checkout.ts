import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()

/**
 * What the cost of a request is compared with, so that many small steps cannot hide behind the commit before each of them: the data path
 * of 25 November 2026, before shares, organisations of callers and plans at run time.
 */
export const REFERENCE = 'aef25499'

/** A commit of this repository, in a folder that goes with the run, or a checkout that was there. */
export interface Checkout {
  /** As it is printed, such as `b3e31377`. */
  readonly name: string
  readonly folder: string
}

/**
 * Writes the program of a commit into a folder. It runs with the libraries of this checkout.
 * @param commit or the folder of a checkout, which is taken as it is, with its own libraries
 * @param folder empty
 * @throws Error if git does not know the commit
 */
export function checkoutOf(commit: string, folder: string): Checkout {
  if (existsSync(join(commit, 'src/main.ts'))) return { name: commit, folder: commit }
  const short = git('rev-parse', '--short', `${commit}^{commit}`)
  const archive = join(folder, 'source.tar')
  git('archive', '-o', archive, short, 'src', 'config', 'package.json')
  execFileSync('tar', ['-xf', archive, '-C', folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return { name: short, folder }
}

/** The commit that the program of this checkout comes from, with a remark if its files differ from it. */
export function commitOfNow(): string {
  const changed = git('status', '--porcelain', '--', 'src')
  return `${git('log', '-1', '--format=%h', '--', 'src')}${changed === '' ? '' : ' with changes'}`
}

/** How a table says of when and what it is: `Measured on 2026-11-29 at a8f02813`, by which a test knows whether it is too old. */
export function measuredOn(): string {
  return `Measured on ${new Date().toISOString().slice(0, 10)} at ${commitOfNow()}`
}

/** A schema as far as it says which members there are. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

/**
 * A configuration without the keys that a checkout does not know: an older one starts with what it has instead of refusing the file.
 * @returns the configuration, and the paths that were left out, such as `edge.shares`
 */
export function configurationFor(
  folder: string,
  configuration: object,
): { readonly fitting: object; readonly left: string[] } {
  const left: string[] = []
  const schema: Schema = JSON.parse(readFileSync(join(folder, 'config/tollgate.schema.json'), 'utf8'))
  return { fitting: knownOf(configuration, schema, '', left), left }
}

function knownOf(value: object, { properties, additionalProperties }: Schema, path: string, left: string[]): object {
  if (properties === undefined) return value
  const isClosed = additionalProperties === false
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    const schema = properties[name]
    if (schema === undefined && isClosed) {
      left.push(path + name)
      return []
    }
    const isObject = typeof member === 'object' && member !== null && !Array.isArray(member)
    return [[name, schema !== undefined && isObject ? knownOf(member, schema, `${path}${name}.`, left) : member]]
  })
  return Object.fromEntries(members)
}
