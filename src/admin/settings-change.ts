import { randomBytes } from 'node:crypto'
import { SETTINGS } from '../control/forms.ts'
import {
  kept,
  leavesInForce,
  MOST_LAYERS,
  type NewLayer,
  packedOf,
  type Stack,
  set,
  stackOf,
} from '../control/layers.ts'
import { leavesOfPatch } from '../control/leaves.ts'
import type { Problem } from '../control/problems.ts'
import type { QuotaPatchLike } from '../control/settings.ts'
import type { Changes, Packed } from '../control/state.ts'
import { type Timing, timingOf, timingProblems } from '../control/timing.ts'
import { sameJson } from '../lib/json.ts'

/** A requested change of the settings, for now or later. */
export interface SettingsChange {
  readonly patch: QuotaPatchLike
  readonly timing: Timing
  /** The id of the layer, if the change becomes one. */
  readonly id: string
}

export function settingsChange(patch: QuotaPatchLike): SettingsChange {
  return { patch, timing: timingOf({ ...patch }), id: randomBytes(6).toString('hex') }
}

/** What is wrong with a change apart from its values. @param at the store's time, in milliseconds since the epoch */
export function settingsProblems(change: SettingsChange, stored: Packed<Changes>, at: number): Problem[] {
  const { patch, timing } = change
  const problems = timingProblems({ ...patch }, at)
  const named = (['from', 'until', 'guard'] as const).filter((path) => timing[path] !== null)
  if (problems.length > 0 || named.length === 0) return problems
  const leaves = leavesOfPatch(patch)
  if (leaves.length === 0) return named.map((path) => ({ path, msg: 'is of no use: nothing is set beside it' }))
  const before = stackOf(SETTINGS, stored)
  if (timing.from === null && hasNothingBeneath(before, change, at)) {
    return named.map((path) => ({ path, msg: 'has nothing to take back: all is set so already, without an end' }))
  }
  if (set(before, layerOf(change, 'nobody', at), at).layers.length <= MOST_LAYERS) return []
  const msg = `${MOST_LAYERS} changes are temporary or to come already: cancel one by DELETE /api/quota/scheduled/{id}`
  return named.map((path) => ({ path, msg }))
}

/** Whether the same values would be in force if the layer of the change was set and removed again, so that its end changes nothing. */
function hasNothingBeneath(before: Stack, change: SettingsChange, at: number): boolean {
  const layer = layerOf(change, 'nobody', at)
  const { permanent, layers } = set(before, layer, at)
  const without = { permanent, layers: layers.filter(({ id }) => id !== layer.id) }
  const inForce = (stack: Stack) => SETTINGS.valueOf(leavesInForce(SETTINGS, stack, at))
  return sameJson(inForce({ permanent, layers }), inForce(without))
}

/** The settings after the change. @param who the administrator @param at the store's time */
export function changedSettings(
  change: SettingsChange,
  stored: Packed<Changes>,
  who: string,
  at: number,
): Packed<Changes> {
  const before = stackOf(SETTINGS, stored)
  const rest = change.timing.guard === null && change.patch.guard === null ? unguarded(before, at) : before
  const isNothing = leavesOfPatch(change.patch).length === 0
  const after = isNothing ? rest : set(rest, layerOf(change, who, at), at)
  return (packedOf(SETTINGS, after) ?? {}) as Packed<Changes>
}

function layerOf({ patch, timing, id }: SettingsChange, who: string, at: number): NewLayer {
  const { from, until, guard } = timing
  const guarding = guard && { id, until: (from ?? at) + guard.forMs, refused: guard.refused }
  const about = { id, who, why: patch.reason ?? null, leaves: leavesOfPatch(patch) }
  return { ...about, from, until, ...(guarding !== null && { guard: guarding }) }
}

function unguarded(stack: Stack, at: number): Stack {
  const guarded = stack.layers.find(({ guard }) => guard !== undefined)
  return guarded === undefined ? stack : unguarded(kept(stack, guarded.id, 'guard', at), at)
}
