import { sameJson } from '../lib/json.ts'
import { type AuditEntry, type Change, GUARD, SCHEDULE } from './control-store.ts'
import { isAlias } from './forgetting.ts'
import { OVERRIDES, SETTINGS } from './forms.ts'
import {
  type Form,
  leavesInForce,
  packedOf,
  type Stack,
  type StackLayer,
  settled,
  stackOf,
  withoutOver,
} from './layers.ts'
import { covers, type Leaf, touch } from './leaves.ts'
import type { Changes, OrganisationOverride, Packed, StoredControl, UserOverride } from './state.ts'

/** Whether and how a change can be undone. */
export type Undo =
  /** `null` if everything is already as before the change. */
  | { readonly kind: 'possible'; readonly change: Change | null }
  /** Somebody has set these values since then. */
  | { readonly kind: 'changed_since'; readonly values: readonly ChangedValue[] }
  /** It can never be undone, for the reason in the sentence. */
  | { readonly kind: 'impossible'; readonly why: string }

/** A value that differs from what the change has set. */
export interface ChangedValue {
  /** With dots, as in the settings; empty for a whole override. */
  readonly path: string
  /** What the change has set, and what is there now; `null` if the file decides, or if there is no override. */
  readonly set: unknown
  readonly now: unknown
}

/**
 * Restores what a change has replaced, in the permanent value and in each layer: values that it has set, and ends that it has
 * added, removed or moved. Other layers stay as they are, and values that are as before need nothing.
 * @param at the store's time, in milliseconds since the epoch
 */
export function undoOf(entry: AuditEntry, state: StoredControl, at: number): Undo {
  const id = entry.subject ?? ''
  if (entry.what === 'override' && isAlias(id)) return { kind: 'impossible', why: REASONS.user_forgotten }
  if (entry.what === 'settings') {
    const toChange = (to: unknown): Change => ({ kind: 'settings', to: (to ?? {}) as Packed<Changes> })
    return undoIn(SETTINGS, entry, state.settings.value, at, toChange)
  }
  if (entry.what === 'override' || entry.what === 'organisation_override') {
    const isUser = entry.what === 'override'
    const stored = (isUser ? state.overrides : state.organisationOverrides).get(id)?.value ?? null
    const toChange = (to: unknown): Change =>
      isUser
        ? { kind: 'override', user: id, to: to as Packed<UserOverride> | null }
        : { kind: 'organisation_override', organisation: id, to: to as Packed<OrganisationOverride> | null }
    return undoIn(OVERRIDES, entry, stored, at, toChange)
  }
  return { kind: 'impossible', why: REASONS[entry.what as keyof typeof REASONS] ?? UNKNOWN }
}

const REASONS = {
  overrides:
    'the overrides that it replaced are not kept any more: put the file of before in force again by PUT /api/overrides',
  grant: 'requests may have been paid from it since: end the grant by DELETE /api/grants/{id}, or give another one',
  reset: 'what a user had used is not kept: set an override for that user instead',
  quota_reset: 'charges have been added to the windows since: raise their limits, or reset them again',
  token_created: 'an access key is given out once: revoke it by DELETE /api/tokens/{id}',
  user_forgotten: 'nothing is kept of a user who was forgotten: set what is needed anew',
  token_opened: 'somebody has seen the token: if that was somebody else, revoke it by DELETE /api/tokens/{id}',
  token_revoked: 'nobody has the token itself: make a new one by POST /api/tokens',
  tokens_imported: 'keys are given out already: revoke those that are not wanted by DELETE /api/tokens/{id}',
  tokens_revoked: 'nobody has the tokens themselves: make new ones by POST /api/tokens',
}

const UNKNOWN = 'this version of Tollgate does not know such a change: ask a gateway of the version that made it'

const HAS_BEGUN = 'it only scheduled a change, which has begun since: undo the entry that `schedule` made when it began'
const A_STEP = 'it only says what became of an earlier change: undo that one, or set the value again'

function undoIn(
  form: Form,
  entry: AuditEntry,
  stored: Packed<unknown> | null,
  at: number,
  toChange: (to: unknown) => Change,
): Undo {
  const now = stackOf(form, stored)
  const after = stackOf(form, asPacked(entry.to))
  const from = stackOf(form, asPacked(entry.from))
  const [before, set, there] = [entry.who === SCHEDULE ? notBegunBy(from, after) : from, after, now].map((stack) =>
    partsOf(asNow(withoutTakenBack(stack, after, now), now, at)),
  ) as [Parts, Parts, Parts]
  const differing = [...new Set([...before.keys(), ...set.keys()])].filter((key) => !same(before, set, key))
  if (differing.length === 0 && (entry.who === SCHEDULE || entry.who === GUARD)) {
    return { kind: 'impossible', why: A_STEP }
  }
  const open = differing.filter((key) => !same(there, before, key))
  const back = differing.filter((key) => same(there, before, key))
  const isAsSet = (key: string): boolean =>
    same(there, set, key) &&
    !wouldHide(before.get(key), there, set) &&
    !wouldBeHidden(before.get(key), there, set, entry.at) &&
    !isOfAnother(before.get(key), there, set) &&
    !hasLostNeighbour(key, before, there, set) &&
    !back.some((other) => before.get(key)?.layer != null || touch(pathOf(key), pathOf(other)))
  const moved = movedSince(partsOf(from), partsOf(after), there)
  const changed = [...new Set([...open.filter((key) => !isAsSet(key)), ...moved])]
  if (changed.length > 0) return { kind: 'changed_since', values: changedValues(form, changed, set, before, now, at) }
  if (open.length === 0) {
    const isMade = after.layers.some((layer) => hasBecome(layer, now))
    return isMade ? { kind: 'impossible', why: HAS_BEGUN } : { kind: 'possible', change: null }
  }
  const undone = new Map(there)
  for (const key of open) {
    const part = before.get(key)
    if (part === undefined) undone.delete(key)
    else undone.set(key, part)
  }
  return { kind: 'possible', change: toChange(packedOf(form, stackFrom(undone))) }
}

function asPacked(value: unknown): Packed<unknown> | null {
  return value as Packed<unknown> | null
}

/** A stack without the scheduled layers that this change has begun, so that undoing it does not schedule them again. */
function notBegunBy({ permanent, layers }: Stack, after: Stack): Stack {
  const begun = ({ id }: StackLayer) => after.layers.every((layer) => layer.id !== id || layer.begun === true)
  return { permanent, layers: layers.filter((layer) => layer.begun === true || !begun(layer)) }
}

/** Whether a scheduled layer has become part of the permanent value. */
function hasBecome({ id, begun, leaves }: StackLayer, now: Stack): boolean {
  if (begun === true || now.layers.some((layer) => layer.id === id)) return false
  return leaves.some((leaf) => now.permanent.some((other) => sameJson(other, leaf)))
}

/** Removes layers that their guards have taken back since the change. The permanent value is then still what lay below them. */
function withoutTakenBack({ permanent, layers }: Stack, after: Stack, now: Stack): Stack {
  const known = new Set(now.layers.map(({ id }) => id))
  const guarded = new Map(after.layers.filter(({ guard }) => guard !== undefined).map(({ id, leaves }) => [id, leaves]))
  const under = (stack: Stack, [path]: Leaf) => stack.permanent.filter(([place]) => touch(place, path))
  const isTakenBack = (id: string, leaf: Leaf): boolean =>
    guarded.get(id)?.some((other) => sameJson(other, leaf)) === true &&
    sameJson(under(now, leaf), under(after, leaf)) &&
    !now.permanent.some((other) => sameJson(other, leaf)) &&
    !hasStripped(leaf[0], after, now)
  const rest = layers.map((layer) =>
    known.has(layer.id) ? layer : { ...layer, leaves: layer.leaves.filter((leaf) => !isTakenBack(layer.id, leaf)) },
  )
  return { permanent, layers: rest.filter(({ leaves }) => leaves.length > 0) }
}

/** Whether a layer has since lost its value at a place, as happens to a value that is hidden for ever. */
function hasStripped(place: readonly string[], after: Stack, now: Stack): boolean {
  return after.layers.some(({ id, leaves }) => {
    const there = now.layers.find((layer) => layer.id === id)?.leaves
    const isLost = ([path]: Leaf) => covers(place, path) && !there?.some(([other]) => sameJson(other, path))
    return there !== undefined && leaves.some(isLost)
  })
}

/**
 * An earlier state as it would be by now: without layers that have ended, and without guards that were decided since then.
 * The values of a layer that its guard has kept are permanent.
 */
function asNow({ permanent, layers }: Stack, now: Stack, at: number): Stack {
  const known = new Map(now.layers.map((layer) => [layer.id, layer]))
  const guarded = layers.map(({ guard: _, ...layer }) => {
    const guard = known.get(layer.id)?.guard
    return guard === undefined ? layer : { ...layer, guard }
  })
  return settled(
    withoutOver({ permanent, layers: guarded }, at),
    at,
    ({ id, begun }) => begun === true && !known.has(id),
  )
}

/** One value of the permanent ones, or of a layer. */
interface Part {
  readonly leaf: Leaf
  readonly layer: StackLayer | null
}

type Parts = ReadonlyMap<string, Part>

function partsOf({ permanent, layers }: Stack): Parts {
  const parts = permanent.map((leaf): Part => ({ leaf, layer: null }))
  const ofLayers = layers.flatMap((layer) => layer.leaves.map((leaf): Part => ({ leaf, layer })))
  return new Map([...parts, ...ofLayers].map((part) => [JSON.stringify([part.layer?.id ?? null, part.leaf[0]]), part]))
}

function stackFrom(parts: Parts): Stack {
  const permanent: Leaf[] = []
  const layers = new Map<string, StackLayer>()
  for (const { leaf, layer } of parts.values()) {
    if (layer === null) permanent.push(leaf)
    else {
      const known = layers.get(layer.id) ?? { ...layer, leaves: [] }
      layers.set(layer.id, { ...known, leaves: [...known.leaves, leaf] })
    }
  }
  return { permanent, layers: [...layers.values()].sort((a, b) => a.from - b.from) }
}

/** Whether two states have the same value under a key. For a value of a layer the ends must be the same, too. */
function same(a: Parts, b: Parts, key: string): boolean {
  const [one, other] = [a.get(key), b.get(key)]
  if (one === undefined || other === undefined) return one === other
  return sameJson(one.leaf[1], other.leaf[1]) && one.layer?.until === other.layer?.until
}

function pathOf(key: string): readonly string[] {
  return (JSON.parse(key) as [string | null, readonly string[]])[1]
}

/** Whether the layer of a part, or its end, was removed since the change. A part can only be restored in the same layer. */
function isOfAnother(part: Part | undefined, now: Parts, set: Parts): boolean {
  const id = part?.layer?.id
  if (id === undefined) return false
  const endIn = (parts: Parts) => [...parts.values()].find(({ layer }) => layer?.id === id)?.layer?.until
  return endIn(set) !== undefined && endIn(set) !== endIn(now)
}

/** Whether a restored layer would lie above a value that was set permanently since the change. */
function wouldHide(part: Part | undefined, now: Parts, set: Parts): boolean {
  if (part === undefined || part.layer === null) return false
  const [path] = part.leaf
  const permanent = (parts: Parts) => [...parts].filter(([, { leaf, layer }]) => layer === null && touch(path, leaf[0]))
  const [there, then] = [permanent(now), permanent(set)]
  return there.length !== then.length || there.some(([key]) => !same(now, set, key))
}

/** Whether a permanently restored value would lie below a layer that began before the change and was restored since then. */
function wouldBeHidden(part: Part | undefined, now: Parts, set: Parts, changedAt: number): boolean {
  if (part === undefined || part.layer !== null) return false
  return [...now].some(
    ([key, { leaf, layer }]) =>
      layer !== null && layer.from <= changedAt && !set.has(key) && touch(part.leaf[0], leaf[0]),
  )
}

/** Whether another layer with a value for the same place is gone. It may have been above this one, so its effect is unknown. */
function hasLostNeighbour(key: string, before: Parts, now: Parts, set: Parts): boolean {
  const part = before.get(key)
  if (part === undefined || part.layer === null) return false
  return [...set].some(
    ([other, { leaf, layer }]) => other !== key && layer !== null && !now.has(other) && touch(leaf[0], part.leaf[0]),
  )
}

/** Values that the change has set for a while but that are elsewhere now, for example because they became permanent. */
function movedSince(before: Parts, set: Parts, now: Parts): string[] {
  const isMoved = ([key, { leaf, layer }]: [string, Part]): boolean => {
    if (layer === null || now.has(key) || same(before, set, key)) return false
    return [...now].some(([other, there]) => {
      if (set.has(other)) return false
      if (there.layer === null) return layer.until !== null && sameJson(there.leaf, leaf)
      return there.layer.id === layer.id && covers(leaf[0], there.leaf[0])
    })
  }
  return [...set].filter(isMoved).map(([key]) => key)
}

function changedValues(
  form: Form,
  keys: readonly string[],
  set: Parts,
  before: Parts,
  now: Stack,
  at: number,
): readonly ChangedValue[] {
  const inForce = leavesInForce(form, now, at)
  const values = keys.map((key): ChangedValue => {
    const [path, value] = (set.get(key) ?? before.get(key))?.leaf ?? [pathOf(key), null]
    const there = inForce.find(([place]) => covers(place, path))
    return { path: path.join('.'), set: set.has(key) ? value : null, now: there?.[1] ?? null }
  })
  return [...new Map(values.map((value) => [value.path, value])).values()]
}
