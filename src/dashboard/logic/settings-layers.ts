import type { LayerResponse, QuotaPatch } from '../../contract/api.ts'
import { leavesOf } from './change-terms.ts'

/** What was set over time for everybody, in layers, newest first as in the API. Pure. */

/** The value of a place after a layer ends; `undefined` if that of the file is in force then. */
export function followsIn(layers: readonly LayerResponse[], ended: LayerResponse, path: string): unknown {
  const at = Date.parse(ended.until ?? '')
  const live = layers.filter(
    ({ id, from, until }) =>
      id !== ended.id && (from === null || Date.parse(from) <= at) && (until === null || Date.parse(until) > at),
  )
  for (const { value } of live) {
    const leaf = leavesOf(value).find(([place]) => path === place || path.startsWith(`${place}.`))
    if (leaf !== undefined) return leaf[1] ?? undefined
  }
  return undefined
}

/** Whether all values of a layer are in force, because no newer layer sets them. */
export function isOnTop(layers: readonly LayerResponse[], layer: LayerResponse): boolean {
  const newer = layers.slice(
    0,
    layers.findIndex(({ id }) => id === layer.id),
  )
  const places = newer.filter(({ state }) => state !== 'to_come').flatMap(({ value }) => leavesOf(value))
  return (
    layer.state === 'in_force' && !leavesOf(layer.value).some(([path]) => places.some((place) => touch(path, place[0])))
  )
}

/** What a change does to the layers of others. */
export type SettingsNote =
  | { readonly kind: 'dropped'; readonly at: string; readonly why: string }
  | { readonly kind: 'guardEnded'; readonly at: string }

/** @param patch that is made now @param until its end in ISO 8601; `null` for never */
export function notesOfPatch(
  layers: readonly LayerResponse[],
  patch: QuotaPatch,
  { until, isGuarded }: { readonly until: string | null; readonly isGuarded: boolean },
): readonly SettingsNote[] {
  const leaves = leavesOf(patch as Readonly<Record<string, unknown>>)
  const isSet = (path: string) => leaves.some(([place]) => path === place || path.startsWith(`${place}.`))
  return layers
    .filter(({ state, id }) => state !== 'to_come' && id !== 'permanent')
    .flatMap((layer): SettingsNote[] => {
      const own = leavesOf(layer.value)
      const { guard, until: end, why } = layer
      const ended: SettingsNote[] =
        guard !== undefined && own.every(([path]) => isSet(path)) ? [{ kind: 'guardEnded', at: guard.until }] : []
      if (end === null || !own.some(([path]) => isSet(path))) return ended
      const isForGood = until === null && !isGuarded
      return isForGood ? [{ kind: 'dropped', at: end, why: why ?? '' }, ...ended] : ended
    })
}

function touch(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`)
}
