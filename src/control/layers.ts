import { isObject, sameJson } from '../lib/json.ts'
import { covers, type Leaf, over, stripped, touch } from './leaves.ts'
import type { Layer, Layers, Packed } from './state.ts'

/**
 * What was set over time: a permanent value, and any number of temporary layers above it. For each value the newest layer in
 * force counts, which is the one that began last. A layer that ends changes nothing else. Settings and overrides use the
 * same functions, which are pure and get the moment as an argument.
 */
export interface Stack {
  readonly permanent: readonly Leaf[]
  /** Oldest beginning first. Layers of the same moment are in the order in which they were set. */
  readonly layers: readonly StackLayer[]
}

export interface StackLayer extends Omit<Layer, 'value'> {
  readonly leaves: readonly Leaf[]
}

/** How a value is split into leaves. The settings have one leaf for each value; an override is one leaf. */
export interface Form {
  leavesOf(value: unknown): Leaf[]
  valueOf(leaves: readonly Leaf[]): unknown
  /** What is in force if `top` lies over `under`. */
  over(under: readonly Leaf[], top: readonly Leaf[]): readonly Leaf[]
  /** Whether a leaf hides everything below it. */
  hides(leaf: Leaf): boolean
}

/** A layer to be set. */
export interface NewLayer extends Omit<StackLayer, 'from'> {
  /** `null` for now. */
  readonly from: number | null
}

export const NOTHING: Stack = { permanent: [], layers: [] }

/** How many layers may lie above a permanent value. */
export const MOST_LAYERS = 20

/** The prefix of the id of a layer that stands for a single override with an end, which is stored without layers. */
const ALONE = 'end-'

export function stackOf(form: Form, packed: Packed<unknown> | null): Stack {
  if (packed === null) return NOTHING
  const { layers, ...rest } = packed as Layers
  if (layers === undefined) return ofOne(form, rest)
  return {
    permanent: Object.keys(rest).length === 0 ? [] : form.leavesOf(rest),
    layers: layers.map(({ value, ...about }) => ({ ...about, leaves: form.leavesOf(value) })),
  }
}

function ofOne(form: Form, value: { readonly expiresAt?: unknown }): Stack {
  const leaves = form.leavesOf(value)
  if (typeof value.expiresAt !== 'number') return { permanent: leaves, layers: [] }
  const id = `${ALONE}${value.expiresAt}`
  return { permanent: [], layers: [{ id, from: 0, until: value.expiresAt, leaves, begun: true, who: null, why: null }] }
}

/** `null` if nothing was set. A single override with an end is stored without layers. */
export function packedOf(form: Form, { permanent, layers }: Stack): unknown {
  const [only] = layers
  if (only === undefined) return permanent.length === 0 ? null : form.valueOf(permanent)
  if (only.id.startsWith(ALONE) && layers.length === 1 && permanent.length === 0) return form.valueOf(only.leaves)
  const values = layers.map(({ leaves, ...about }): Layer => ({ ...about, value: form.valueOf(leaves) }))
  const rest = permanent.length === 0 ? {} : (form.valueOf(permanent) as object)
  return { ...rest, layers: values }
}

export function isLive({ from, until }: Pick<Layer, 'from' | 'until'>, at: number): boolean {
  return from <= at && !isOver({ until }, at)
}

export function isOver({ until }: Pick<Layer, 'until'>, at: number): boolean {
  return until !== null && until <= at
}

/** What is in force at a moment. */
export function leavesInForce(form: Pick<Form, 'over'>, { permanent, layers }: Stack, at: number): readonly Leaf[] {
  return layers.filter((layer) => isLive(layer, at)).reduce((under, { leaves }) => form.over(under, leaves), permanent)
}

/** Sets a layer at a moment: permanently, for a while, or for later. */
export function set(stack: Stack, { from, ...layer }: NewLayer, at: number): Stack {
  if (from !== null) return inserted(stack, { ...layer, from })
  const begun: StackLayer = { ...layer, from: at, begun: true }
  if (isTemporary(layer)) return withoutIdleGuards(inserted(withoutSame(stack, begun, at), begun), at)
  return withoutIdleGuards(
    permanently(stack, layer.leaves, ({ from }) => from <= at),
    at,
  )
}

/** Takes a layer away. */
export function removed({ permanent, layers }: Stack, id: string): Stack {
  return { permanent, layers: layers.filter((layer) => layer.id !== id) }
}

/** Removes a guarded layer. All other guards count anew, because their refusals also happened under this layer. */
export function takenBack(stack: Stack, id: string): Stack {
  const { permanent, layers } = removed(stack, id)
  const anew = (layer: StackLayer) =>
    layer.guard === undefined ? layer : { ...layer, guard: { ...layer.guard, id: `${layer.guard.id}+` } }
  return { permanent, layers: layers.map(anew) }
}

/** Makes a layer stay: removes its end or its guard. */
export function kept({ permanent, layers }: Stack, id: string, what: 'until' | 'guard', at: number): Stack {
  const changed = layers.map((layer) => (layer.id === id ? less(layer, what) : layer))
  return settled({ permanent, layers: changed }, at, isBegun)
}

function isBegun({ begun }: StackLayer): boolean {
  return begun === true
}

function less({ guard, ...layer }: StackLayer, what: 'until' | 'guard'): StackLayer {
  return { ...layer, ...(what === 'until' && { until: null }), ...(what === 'until' && guard && { guard }) }
}

/** Marks a layer as begun. A layer that stays becomes a part of the permanent value. */
export function begun({ permanent, layers }: Stack, id: string, at: number): Stack {
  const marked = layers.map((layer) => (layer.id === id ? { ...layer, begun: true as const } : layer))
  return withoutIdleGuards(settled({ permanent, layers: marked }, at, isBegun), at)
}

/** Removes layers that are over, and moves layers that stay into the permanent value. */
export function current(stack: Stack, at: number): Stack {
  return stack.layers.length === 0 ? stack : settled(withoutOver(stack, at), at)
}

export function withoutOver({ permanent, layers }: Stack, at: number): Stack {
  return { permanent, layers: layers.filter((layer) => !isOver(layer, at)) }
}

/** Whether the layer will or may end. */
function isTemporary({ until, guard }: Pick<StackLayer, 'until' | 'guard'>): boolean {
  return until !== null || guard !== undefined
}

/**
 * Moves layers that have begun and have neither end nor guard into the permanent value.
 * @param which only these layers. Default all
 */
export function settled(stack: Stack, at: number, which: (layer: StackLayer) => boolean = () => true): Stack {
  const index = stack.layers.findIndex((layer) => layer.from <= at && !isTemporary(layer) && which(layer))
  const layer = stack.layers[index]
  if (layer === undefined) return stack
  const below = new Set(stack.layers.slice(0, index))
  return settled(
    permanently(removed(stack, layer.id), layer.leaves, (other) => below.has(other)),
    at,
    which,
  )
}

/** @param isUnder whether a layer lies below the new values. It loses its own values in their places, which could never count again */
function permanently(stack: Stack, leaves: readonly Leaf[], isUnder: (layer: StackLayer) => boolean): Stack {
  const known = [stack.permanent, ...stack.layers.map((layer) => layer.leaves)].flat()
  const layers = stack.layers.map((layer) =>
    isUnder(layer) ? { ...layer, leaves: stripped(layer.leaves, leaves, known) } : layer,
  )
  return { permanent: over(stack.permanent, leaves), layers: layers.filter((layer) => layer.leaves.length > 0) }
}

/** If a value is in force already by a temporary layer, that layer gives the value up, so that only the end of the new layer counts. */
function withoutSame({ permanent, layers }: Stack, { leaves }: StackLayer, at: number): Stack {
  const known = [permanent, ...layers.map((layer) => layer.leaves)].flat()
  const given = new Map<StackLayer, Leaf[]>()
  for (const leaf of leaves) {
    const top = layers.findLast((layer) => isLive(layer, at) && layer.leaves.some(([path]) => touch(path, leaf[0])))
    const has = top?.leaves.some(([path, value]) => sameJson(path, leaf[0]) && sameValue(value, leaf[1]))
    if (top !== undefined && has && isTemporary(top)) given.set(top, [...(given.get(top) ?? []), leaf])
  }
  const rest = layers.map((layer) => {
    const gone = given.get(layer)
    return gone === undefined ? layer : { ...layer, leaves: stripped(layer.leaves, gone, known) }
  })
  return { permanent, layers: rest.filter((layer) => layer.leaves.length > 0) }
}

/** Compares overrides without their ends and reasons, which may differ. */
function sameValue(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return sameJson(a, b)
  return sameJson({ ...a, reason: '', expiresAt: null }, { ...b, reason: '', expiresAt: null })
}

function inserted({ permanent, layers }: Stack, layer: StackLayer): Stack {
  const place = layers.findLastIndex(({ from }) => from <= layer.from) + 1
  return { permanent, layers: [...layers.slice(0, place), layer, ...layers.slice(place)] }
}

/** A guard watches the values of its layer. When newer layers have set all of them, it has nothing to watch. */
function withoutIdleGuards(stack: Stack, at: number): Stack {
  const { layers } = stack
  const idle = layers.find((layer, i) => {
    const above = layers.slice(i + 1).filter((other) => isLive(other, at))
    const isHidden = ([path]: Leaf) => above.some(({ leaves }) => leaves.some(([place]) => covers(place, path)))
    return layer.guard !== undefined && isLive(layer, at) && layer.leaves.every(isHidden)
  })
  return idle === undefined ? stack : withoutIdleGuards(kept(stack, idle.id, 'guard', at), at)
}

/** A layer, or a part of one, that a change has added or removed. */
export interface LayerChange extends StackLayer {}

/** What a change did to layers, its own and others. Layers that are over by then do not count. */
export interface LayerChanges {
  readonly endsAdded: readonly LayerChange[]
  readonly endsDropped: readonly LayerChange[]
  readonly guardsEnded: readonly LayerChange[]
}

export function changesBetween(before: Stack, after: Stack, at: number): LayerChanges {
  const ends = ({ layers }: Stack) => layers.filter((layer) => layer.until !== null && !isOver(layer, at))
  const guards = ({ layers }: Stack) => layers.filter(({ guard }) => guard !== undefined)
  const idsOf = (layers: readonly StackLayer[]) => new Set(layers.map(({ id }) => id))
  const still = idsOf(guards(after))
  return {
    endsAdded: missingIn(ends(before), ends(after)),
    endsDropped: missingIn(ends(after), ends(before)),
    guardsEnded: guards(before).filter(({ id }) => !still.has(id)),
  }
}

/** The layers of `there` that `here` lacks, or has with another end. */
function missingIn(here: readonly StackLayer[], there: readonly StackLayer[]): LayerChange[] {
  return there.flatMap((layer) => {
    const same = here.find(({ id, until }) => id === layer.id && until === layer.until)
    const has = ([path, value]: Leaf) => same?.leaves.some((leaf) => sameJson(leaf, [path, value]))
    const leaves = layer.leaves.filter((leaf) => !has(leaf))
    return leaves.length === 0 ? [] : [{ ...layer, leaves }]
  })
}
