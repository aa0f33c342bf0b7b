import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()

/**
 * The commit that the cost of a request is compared with, so that many small steps cannot add up unnoticed: the data path of 25 November
 * 2026, before shares, organisations of callers and plans at run time.
 */
export const REFERENCE = 'aef25499'

/** A commit of this repository, in a folder that is removed after the run, or an existing checkout. */
export interface Checkout {
  /** The name as it is printed, such as `b3e31377`. */
  readonly name: string
  readonly folder: string
}

/**
 * Writes the program of a commit into a folder. It runs with the libraries of this checkout.
 * @param commit or the folder of a checkout, which is used as it is, with its own libraries
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

/** The commit of this checkout's program, with a remark if its files differ from it. */
export function commitOfNow(): string {
  const changed = git('status', '--porcelain', '--', 'src')
  return `${git('log', '-1', '--format=%h', '--', 'src')}${changed === '' ? '' : ' with changes'}`
}

/** The date and commit in a table: `Measured on 2026-11-29 at a8f02813`. A test reads there whether the table is too old. */
export function measuredOn(): string {
  return `Measured on ${new Date().toISOString().slice(0, 10)} at ${commitOfNow()}`
}

/** The part of a JSON Schema that names the members of an object. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

/**
 * A configuration without the keys that a checkout does not know, so that an older one starts instead of refusing the file.
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
