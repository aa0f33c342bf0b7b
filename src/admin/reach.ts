import type { UnfollowedResponse } from '../contract/api.ts'
import type { Vain } from '../control/control-store.ts'
import { reachOf } from '../control/followers.ts'
import { leavesOfPatch } from '../control/leaves.ts'
import { asOverrides } from '../control/overrides.ts'
import { applyPatch, type QuotaPatchLike, resolve } from '../control/settings.ts'
import type { ControlState } from '../control/state.ts'
import { whyUnfollowed } from '../control/unfollowed.ts'
import { sameJson } from '../lib/json.ts'
import { createPolicy } from '../quota/policy.ts'
import type { Desk } from './desk.ts'

/** Whom a change of the settings affects. */
export interface PatchReach {
  readonly unfollowed: readonly UnfollowedResponse[]
  /** Whether the change makes no difference to anybody. It is never true for a change with a mode, a switch or a factor. */
  readonly movesNobody: boolean
}

const LIMITS = new Set(['baselines', 'custom', 'plans'])

/** @param signal stops the search for users. Default never @throws StoreError, or the reason of the signal */
export async function reachOfPatch(
  desk: Desk,
  state: ControlState,
  patch: QuotaPatchLike,
  signal?: AbortSignal,
): Promise<PatchReach> {
  const { quota, exempt } = desk.setup()
  const { factor } = desk.adaptive()
  const { value } = state.settings
  const after = applyPatch(value, patch)
  const [now, next] = [resolve(quota, value).settings, resolve(quota, after).settings]
  const overrides = asOverrides(state)
  const reach = await reachOf({
    store: desk.store,
    payersOf: (users) => desk.payersOf(users),
    overridden: state.overrides.keys(),
    exempt,
    ...(signal && { signal }),
    now,
    next,
    policies: [createPolicy(now, factor, overrides), createPolicy(next, factor, overrides)],
  })
  const areLimits = leavesOfPatch(patch).every(([[field = '']]) => LIMITS.has(field))
  const unfollowed = reach.unfollowed.map((each) => ({ ...each, why: whyUnfollowed(each) }))
  return { unfollowed, movesNobody: areLimits && !sameJson(value, after) && reach.isNobody }
}

/** The part for the audit; `undefined` if somebody follows each value and is affected. */
export function vainIn({ unfollowed, movesNobody }: PatchReach): Vain | undefined {
  if (unfollowed.length === 0 && !movesNobody) return undefined
  return { unfollowed: unfollowed.map(({ path, by }) => ({ path, by })), movesNobody }
}
