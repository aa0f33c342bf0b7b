import { isObject, sameJson } from '../lib/json.ts'
import type { Json } from './problems.ts'
import { applyPatch, type QuotaPatchLike } from './settings.ts'
import type { Changes } from './state.ts'

/** One value of the settings that a change replaced. Plain JSON: it is stored as it is. */
export interface Leaf {
  /** The names of its members, from the outermost on. */
  readonly path: readonly string[]
  /** Before and after; `null` follows the file. */
  readonly from: unknown
  readonly to: unknown
}

/** The values in which two settings differ, in the order of their members. */
export function leavesBetween(from: Changes, to: Changes): Leaf[] {
  return differing(from as Json, to as Json, [])
}

/** The values of those leaves which are still as the change left them. */
export function standing(now: Changes, leaves: readonly Leaf[]): Leaf[] {
  return leaves.filter((leaf) => sameJson(valueAt(now, leaf.path), leaf.to))
}

/** The settings with the values that these leaves had before. */
export function putBack(now: Changes, leaves: readonly Leaf[]): Changes {
  return applyPatch(now, patchOf(leaves.map(({ path, from }) => [path, from])))
}

/** The merge patch that sets values at their places. */
export function patchOf(values: readonly (readonly [path: readonly string[], value: unknown])[]): QuotaPatchLike {
  const patch: Tree = new Map()
  for (const [path, value] of values) setAt(patch, path, value)
  return plain(patch) as QuotaPatchLike
}

/** `null` for one that follows the file. Own members only: a category may be called `constructor`. */
export function valueAt(changes: Changes, path: readonly string[]): unknown {
  let value: unknown = changes
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : null
  return value ?? null
}

function differing(from: Json, to: Json, path: readonly string[]): Leaf[] {
  const names = new Set([...Object.keys(from), ...Object.keys(to)])
  return [...names].flatMap((name) => {
    const below = [...path, name]
    const [before, after] = [valueAt(from as Changes, [name]), valueAt(to as Changes, [name])]
    if (isObject(before) || isObject(after)) {
      return differing(isObject(before) ? before : {}, isObject(after) ? after : {}, below)
    }
    return sameJson(before, after) ? [] : [{ path: below, from: before, to: after }]
  })
}

/** A map, as an object has no member `__proto__` to assign to. */
type Tree = Map<string, Tree | { readonly value: unknown }>

function setAt(tree: Tree, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    tree.set(name, { value })
    return
  }
  const known = tree.get(name)
  const inner: Tree = known instanceof Map ? known : new Map()
  tree.set(name, inner)
  setAt(inner, rest, value)
}

function plain(tree: Tree): Json {
  return Object.fromEntries([...tree].map(([name, inner]) => [name, inner instanceof Map ? plain(inner) : inner.value]))
}
