import { isObject } from '../lib/json.ts'
import { isSoft } from '../quota/limit-value.ts'
import type { Json } from './problems.ts'
import type { QuotaPatchLike } from './settings.ts'

/**
 * One value and its place, which is the list of member names from the outermost one. With the value `null`, nothing is
 * set at this place and within it, so that the value from the layers below counts.
 */
export type Leaf = readonly [path: readonly string[], value: unknown]

/** Whether a value at `place` also decides the value at `path`. */
export function covers(place: readonly string[], path: readonly string[]): boolean {
  return place.length <= path.length && place.every((name, i) => name === path[i])
}

/** Whether one of two places lies within the other. */
export function touch(a: readonly string[], b: readonly string[]): boolean {
  return covers(a, b) || covers(b, a)
}

/** The leaves after `top` was set over `under`. */
export function over(under: readonly Leaf[], top: readonly Leaf[]): Leaf[] {
  const rest = under.filter(([path]) => !top.some(([place]) => covers(place, path)))
  return [...rest, ...top.filter(([, value]) => value !== null)]
}

/**
 * The leaves that can still count below `top`.
 * @param known all values that exist. A `null` for a place with several values is replaced by one `null` for each value that `top` lacks
 */
export function stripped(leaves: readonly Leaf[], top: readonly Leaf[], known: readonly Leaf[]): Leaf[] {
  const isSet = (path: readonly string[]): boolean => top.some(([place]) => covers(place, path))
  return leaves.flatMap((leaf): readonly Leaf[] => {
    const [path] = leaf
    if (isSet(path)) return []
    if (!top.some(([place]) => covers(path, place))) return [leaf]
    const below = known.filter(([place]) => covers(path, place) && !isSet(place) && place.length > path.length)
    return [...new Map(below.map(([place]): [string, Leaf] => [JSON.stringify(place), [place, null]])).values()]
  })
}

/** The values in a tree of settings, or in a merge patch. */
export function leavesOf(tree: Json): Leaf[] {
  return below(tree, [])
}

/** The tree or the merge patch of these values. */
export function treeOf(leaves: readonly Leaf[]): Json {
  const tree: Tree = new Map()
  for (const [path, value] of leaves) setAt(tree, path, value)
  return plain(tree)
}

/** The values of a patch, without time, guard and reason. */
export function leavesOfPatch({ reason: _, from: __, until: ___, guard: ____, ...patch }: QuotaPatchLike): Leaf[] {
  return leavesOf(patch)
}

function below(tree: Json, path: readonly string[]): Leaf[] {
  return Object.entries(tree).flatMap(([name, value]): Leaf[] => {
    const place = [...path, name]
    return isObject(value) && !isSoft(value) ? below(value, place) : [[place, value]]
  })
}

/** A map, because an object has no member `__proto__` that could be assigned. */
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
