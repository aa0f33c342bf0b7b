import { randomBytes } from 'node:crypto'
import { SETTINGS } from '../control/forms.ts'
import { kept, leavesInForce, MOST_LAYERS, packedOf, type Stack, set, stackOf, type Wish } from '../control/layers.ts'
import { leavesOfPatch } from '../control/leaves.ts'
import type { Problem } from '../control/problems.ts'
import type { QuotaPatchLike } from '../control/settings.ts'
import type { Changes, Packed } from '../control/state.ts'
import { type Timing, timingOf, timingProblems } from '../control/timing.ts'
import { sameJson } from '../lib/json.ts'

/** A change of the settings that an administrator asks for, made now or later. */
export interface SettingsWish {
  readonly patch: QuotaPatchLike
  readonly timing: Timing
  /** Of the layer that it becomes, if it does. */
  readonly id: string
}

export function settingsWish(patch: QuotaPatchLike): SettingsWish {
  return { patch, timing: timingOf({ ...patch }), id: randomBytes(6).toString('hex') }
}

/** What is wrong with a wish beside its values. @param at the store's time, in milliseconds since the epoch */
export function wishProblems(wish: SettingsWish, stored: Packed<Changes>, at: number): Problem[] {
  const { patch, timing } = wish
  const problems = timingProblems({ ...patch }, at)
  const named = (['from', 'until', 'guard'] as const).filter((path) => timing[path] !== null)
  if (problems.length > 0 || named.length === 0) return problems
  const leaves = leavesOfPatch(patch)
  if (leaves.length === 0) return named.map((path) => ({ path, msg: 'is of no use: nothing is set beside it' }))
  const before = stackOf(SETTINGS, stored)
  if (timing.from === null && hasNothingBeneath(before, wish, at)) {
    return named.map((path) => ({ path, msg: 'has nothing to take back: all is set so already, without an end' }))
  }
  if (set(before, layerOf(wish, 'nobody', at), at).layers.length <= MOST_LAYERS) return []
  const msg = `${MOST_LAYERS} changes are temporary or to come already: cancel one by DELETE /api/quota/scheduled/{id}`
  return named.map((path) => ({ path, msg }))
}

/** Whether all would be the same without the wish, also once what it moves has gone. */
function hasNothingBeneath(before: Stack, wish: SettingsWish, at: number): boolean {
  const layer = layerOf(wish, 'nobody', at)
  const { permanent, layers } = set(before, layer, at)
  const without = { permanent, layers: layers.filter(({ id }) => id !== layer.id) }
  const inForce = (stack: Stack) => SETTINGS.valueOf(leavesInForce(SETTINGS, stack, at))
  return sameJson(inForce({ permanent, layers }), inForce(without))
}

/** The settings as the wish has them. @param who the administrator @param at the store's time */
export function wishedSettings(wish: SettingsWish, stored: Packed<Changes>, who: string, at: number): Packed<Changes> {
  const before = stackOf(SETTINGS, stored)
  const rest = wish.timing.guard === null && wish.patch.guard === null ? unguarded(before, at) : before
  const isNothing = leavesOfPatch(wish.patch).length === 0
  const after = isNothing ? rest : set(rest, layerOf(wish, who, at), at)
  return (packedOf(SETTINGS, after) ?? {}) as Packed<Changes>
}

function layerOf({ patch, timing, id }: SettingsWish, who: string, at: number): Wish {
  const { from, until, guard } = timing
  const guarding = guard && { id, until: (from ?? at) + guard.forMs, refused: guard.refused }
  const about = { id, who, why: patch.reason ?? null, leaves: leavesOfPatch(patch) }
  return { ...about, from, until, ...(guarding !== null && { guard: guarding }) }
}

function unguarded(stack: Stack, at: number): Stack {
  const guarded = stack.layers.find(({ guard }) => guard !== undefined)
  return guarded === undefined ? stack : unguarded(kept(stack, guarded.id, 'guard', at), at)
}
