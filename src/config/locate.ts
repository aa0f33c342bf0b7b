import type { Finding, Path, Position } from './problems.ts'
import type { Tree } from './tree.ts'

const START: Position = { line: 1, column: 1 }

/**
 * The place of a finding: the scalar at its path, or the key of the map or list there. For a missing value it is the
 * place of the deepest existing value on the path.
 */
export function locate(tree: Tree | null, { path, key, at }: Pick<Finding, 'path' | 'key' | 'at'>): Position {
  if (at !== undefined) return at
  if (tree === null) return START
  return walk(tree, key === undefined ? path : [...path, key], key !== undefined)
}

function walk(tree: Tree, path: Path, wantsKey: boolean): Position {
  let node = tree
  let place: Position = START
  for (const i of path.keys()) {
    const next = child(node, path, i)
    if (next === undefined) return position(place)
    const isLast = i === path.length - 1
    place = next.value.kind === 'scalar' && !(isLast && wantsKey) ? next.value : (next.key ?? next.value)
    node = next.value
  }
  return position(place)
}

/** @returns what `node` has at step `i` of the path */
function child(node: Tree, path: Path, i: number): { readonly key?: Position; readonly value: Tree } | undefined {
  const step = path[i]
  if (node.kind === 'map') {
    const written = node.entries.get(String(step))
    return written ?? (BY_FIELD.has(path.slice(0, i).join('.')) ? inAnyCase(node, String(step)) : undefined)
  }
  const item = node.kind === 'list' ? node.items[Number(step)] : undefined
  return item === undefined ? undefined : { value: item }
}

/** The maps whose keys are names of header fields, which are in lower case in paths. */
const BY_FIELD = new Set(['upstream.headers', 'upstream.identity', 'telemetry.headers'])

function inAnyCase({ entries }: Extract<Tree, { kind: 'map' }>, name: string): ReturnType<typeof child> {
  for (const [key, entry] of entries) if (key.toLowerCase() === name) return entry
  return undefined
}

function position({ line, column }: Position): Position {
  return { line, column }
}

/** The line of the value at a path; `null` if the file lacks it. */
export function lineOf(tree: Tree, path: Path): number | null {
  let node: Tree | undefined = tree
  for (const i of path.keys()) node = node === undefined ? undefined : child(node, path, i)?.value
  return node?.line ?? null
}
