import { isObject, sameJson } from '../lib/json.ts'
import type { Json } from './problems.ts'
import type { QuotaPatchLike } from './settings.ts'
import type { Changes, Leaf } from './state.ts'

/** The settings alone, without what is pending. */
export function settingsOf({ pending: _, ...settings }: Changes): Changes {
  return settings
}

/** The values in which two settings differ, in the order of their members. */
export function leavesBetween(from: Changes, to: Changes): Leaf[] {
  return differing(settingsOf(from) as Json, settingsOf(to) as Json, [])
}

/** The values of those leaves which are still as the change left them. */
export function standing(now: Changes, leaves: readonly Leaf[]): Leaf[] {
  return leaves.filter((leaf) => sameJson(valueAt(now, leaf.path), leaf.to))
}

/** The merge patch that puts back what these leaves were before. */
export function patchBack(leaves: readonly Leaf[]): QuotaPatchLike {
  return patchOf(leaves.map(({ path, from }) => [path, from]))
}

/** The places that a merge patch names. One that it gives back to the file as a whole is named as a whole. */
export function placesIn(patch: QuotaPatchLike): (readonly string[])[] {
  const { reason: _, from: __, until: ___, guard: ____, ...settings } = patch
  return namedIn(settings, [])
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

function namedIn(patch: Json, path: readonly string[]): (readonly string[])[] {
  return Object.entries(patch).flatMap(([name, value]) =>
    isObject(value) ? namedIn(value, [...path, name]) : [[...path, name]],
  )
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
