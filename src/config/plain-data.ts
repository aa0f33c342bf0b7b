import { jsonFault } from '../lib/json-fault.ts'
import { formatPath } from './problems.ts'
import { parseTree, type Tree } from './tree.ts'
import type { Reading } from './units.ts'

/** In bytes. Reading YAML takes a hundred times as long as JSON, and blocks everything else. */
const MAX_YAML = 1 << 20

/** Reads JSON or YAML 1.2 without the environment. An error is a problem with its place. @param what belongs in the file */
export function parseData(text: string, what: string): Reading<unknown> {
  if (/^\s*[{[]/.test(text)) return parseJson(text)
  if (Buffer.byteLength(text) > MAX_YAML) return { problem: 'is larger than 1 MiB: write it as JSON, or shorten it' }
  return parseYaml(text, what)
}

function parseJson(text: string): Reading<unknown> {
  const problem = jsonFault(text)
  return problem === null ? { value: JSON.parse(text) } : { problem }
}

function parseYaml(text: string, what: string): Reading<unknown> {
  const { tree, findings } = parseTree(text)
  const [first] = findings
  if (first !== undefined) {
    const where = first.path.length === 0 || first.path[0] === 'yaml' ? '' : `${formatPath(first.path)} `
    return { problem: `line ${first.at?.line ?? 1}, column ${first.at?.column ?? 1}: ${where}${first.message}` }
  }
  return tree === null ? { problem: `is empty: write ${what}` } : { value: plain(tree) }
}

function plain(tree: Tree): unknown {
  if (tree.kind === 'scalar') return tree.value
  if (tree.kind === 'list') return tree.items.map(plain)
  return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, plain(value)]))
}
