import type { EndResponse, EndsResponse, LayerResponse } from '../contract/api.ts'
import type { AuditEntry } from '../control/control-store.ts'
import { OVERRIDES, SETTINGS } from '../control/forms.ts'
import { changesBetween, type Form, isLive, isOver, type Stack, type StackLayer, stackOf } from '../control/layers.ts'
import { covers, type Leaf, touch } from '../control/leaves.ts'
import { PLAN_SCOPES } from '../control/settings.ts'
import type { Changes, Packed } from '../control/state.ts'
import { isObject } from '../lib/json.ts'
import { iso, isoOrNull } from './http.ts'

/** The id of the permanent value below all layers. */
const PERMANENT = 'permanent'

/**
 * The layers of a value over time, newest first, with the permanent value at the end. Empty if only a permanent value is set.
 * @param at the store's time, in milliseconds since the epoch
 */
export function layersShown(form: Form, packed: Packed<unknown> | null, at: number): readonly LayerResponse[] {
  return stackShown(form, stackOf(form, packed), at)
}

/** The layers of the settings as far as they concern one plan, in the form of `layersShown`. */
export function planLayersShown(packed: Packed<Changes>, plan: string, at: number): readonly LayerResponse[] {
  const { permanent, layers } = stackOf(SETTINGS, packed)
  const ofPlan = (leaves: readonly Leaf[]): Leaf[] =>
    leaves.flatMap(([path, value]): Leaf[] => {
      if (!touch(path, ['plans', plan])) return []
      // All plans, or this whole plan, were given back to the file.
      return path.length > 2 ? [[path.slice(2), value]] : PLAN_SCOPES.map((scope) => [[scope], null])
    })
  const own = layers.map((layer) => ({ ...layer, leaves: ofPlan(layer.leaves) }))
  return stackShown(
    SETTINGS,
    { permanent: ofPlan(permanent), layers: own.filter(({ leaves }) => leaves.length > 0) },
    at,
  )
}

function stackShown(form: Form, stack: Stack, at: number): readonly LayerResponse[] {
  const layers = stack.layers.filter((layer) => !isOver(layer, at))
  if (layers.length === 0) return []
  const shown = layers.map((layer, i): LayerResponse => {
    const { id, from, until, guard, who, why, leaves } = layer
    return {
      id,
      from: from === 0 ? null : iso(from),
      until: isoOrNull(until),
      state: stateOf(form, layer, layers.slice(i + 1), at),
      value: shownValue(form, leaves),
      ...(guard !== undefined && { guard: { until: iso(guard.until), refused: guard.refused } }),
      who,
      why,
    }
  })
  return [...shown.reverse(), ...permanentShown(form, stack.permanent, layers, at)]
}

function permanentShown(
  form: Form,
  leaves: readonly Leaf[],
  layers: readonly StackLayer[],
  at: number,
): LayerResponse[] {
  if (leaves.length === 0) return []
  const state = isCovered(form, leaves, layers, at) ? 'covered' : 'in_force'
  return [{ id: PERMANENT, from: null, until: null, state, value: shownValue(form, leaves), who: null, why: null }]
}

function stateOf(form: Form, layer: StackLayer, above: readonly StackLayer[], at: number): LayerResponse['state'] {
  if (!isLive(layer, at)) return 'to_come'
  return isCovered(form, layer.leaves, above, at) ? 'covered' : 'in_force'
}

/** Whether newer layers in force hide all of these values. */
function isCovered(form: Form, leaves: readonly Leaf[], above: readonly StackLayer[], at: number): boolean {
  const places = above
    .filter((layer) => isLive(layer, at))
    .flatMap(({ leaves }) => leaves.filter((leaf) => form.hides(leaf)).map(([place]) => place))
  return leaves.every(([path]) => places.some((place) => covers(place, path)))
}

function shownValue(form: Form, leaves: readonly Leaf[]): Record<string, unknown> {
  const value = form.valueOf(leaves) as Readonly<Record<string, unknown>>
  return form === OVERRIDES ? withoutEnd(value) : { ...value }
}

/** The end of an override is shown with its layer. */
function withoutEnd({ expiresAt: _, ...value }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return value
}

/** The effects of a change on the ends and guards of all layers. The lists are empty if there was no change. */
export function endsOf(entry: AuditEntry | undefined): EndsResponse {
  if (entry === undefined) return { added: [], dropped: [], guards: [] }
  const { what, from, to, at } = entry
  if (what === 'overrides') return endsOfFile(from, to, at)
  return endsBetween(what === 'settings' ? SETTINGS : OVERRIDES, from, to, at)
}

/** @param from the stored value before @param to the stored value after, or as it would be @param at the store's time */
export function endsBetween(form: Form, from: unknown, to: unknown, at: number): EndsResponse {
  const stack = (value: unknown): Stack => stackOf(form, value as Packed<unknown> | null)
  const { endsAdded, endsDropped, guardsEnded } = changesBetween(stack(from), stack(to), at)
  const shown = (layers: readonly StackLayer[]) =>
    layers.map(
      ({ id, until, leaves }): EndResponse => ({ id, until: isoOrNull(until), value: shownValue(form, leaves) }),
    )
  return { added: shown(endsAdded), dropped: shown(endsDropped), guards: shown(guardsEnded) }
}

/** The ends among the differences that the audit keeps of a file. */
function endsOfFile(from: unknown, to: unknown, at: number): EndsResponse {
  const sides = (name: string) => [from, to].map((side) => (isObject(side) && isObject(side[name]) ? side[name] : {}))
  const all = ['overrides', 'organisations'].flatMap((name) => {
    const [before = {}, after = {}] = sides(name)
    return Object.keys(after).map((id) => endsBetween(OVERRIDES, before[id] ?? null, after[id] ?? null, at))
  })
  return { added: all.flatMap((it) => it.added), dropped: all.flatMap((it) => it.dropped), guards: [] }
}

/** A value of the audit, with its layers in the form of the API. */
export function withLayersShown(value: object): object {
  if (!('layers' in value) || !Array.isArray(value.layers)) return value
  const { layers, ...rest } = value
  return { ...rest, layers: layers.map(layerShown) }
}

function layerShown({ from, until, guard, begun: _, value, ...about }: Record<string, unknown>) {
  const { expiresAt: __, ...rest } = value as Record<string, unknown>
  const { until: ends, refused } = (guard ?? {}) as { until?: number; refused?: number }
  return {
    ...about,
    from: from === 0 ? null : iso(from as number),
    until: typeof until === 'number' ? iso(until) : null,
    value: rest,
    ...(ends !== undefined && { guard: { until: iso(ends), refused } }),
  }
}
