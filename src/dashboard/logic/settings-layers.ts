import type { LayerResponse, QuotaPatch } from '../../contract/api.ts'
import { covers, type Leaf, leavesOf, touch } from '../../control/leaves.ts'
import { isLive } from './layers.ts'

/** What was set over time for everybody, in layers, newest first as in the API. Pure. */

/** The value of a place after a layer ends; `undefined` if that of the file is in force then. */
export function followsIn(layers: readonly LayerResponse[], ended: LayerResponse, path: Leaf[0]): unknown {
  const at = Date.parse(ended.until ?? '')
  const live = layers.filter((layer) => layer.id !== ended.id && isLive(layer, at))
  const [, value] = live.flatMap(({ value }) => leavesOf(value)).find(([place]) => covers(place, path)) ?? []
  return value ?? undefined
}

/** Whether all values of a layer are in force, because no newer layer sets them. */
export function isOnTop(layers: readonly LayerResponse[], { id, state, value }: LayerResponse): boolean {
  const newer = layers.slice(0, layers.map((each) => each.id).indexOf(id))
  const places = newer.filter((each) => each.state !== 'to_come').flatMap((each) => leavesOf(each.value))
  return state === 'in_force' && !leavesOf(value).some(([path]) => places.some(([place]) => touch(path, place)))
}

/** What a change does to the layers that are set already. `id` is that of the layer. */
export type SettingsNote =
  | { readonly kind: 'dropped'; readonly id: string; readonly at: string; readonly why: string }
  | { readonly kind: 'guardEnded'; readonly id: string; readonly at: string }

/** @param patch that is made now @param until its end in ISO 8601; `null` for never */
export function notesOfPatch(
  layers: readonly LayerResponse[],
  patch: QuotaPatch,
  { until, isGuarded }: { readonly until: string | null; readonly isGuarded: boolean },
): readonly SettingsNote[] {
  const leaves = leavesOf(patch as Readonly<Record<string, unknown>>)
  const isSet = (path: Leaf[0]) => leaves.some(([place]) => covers(place, path))
  return layers
    .filter(({ state, id }) => state !== 'to_come' && id !== 'permanent')
    .flatMap((layer): SettingsNote[] => {
      const own = leavesOf(layer.value)
      const { id, guard, until: end, why } = layer
      const ended: SettingsNote[] =
        guard !== undefined && own.every(([path]) => isSet(path)) ? [{ kind: 'guardEnded', id, at: guard.until }] : []
      if (end === null || !own.some(([path]) => isSet(path))) return ended
      const isForGood = until === null && !isGuarded
      return isForGood ? [{ kind: 'dropped', id, at: end, why: why ?? '' }, ...ended] : ended
    })
}
