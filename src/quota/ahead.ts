import type { Charge, Decision, Meter } from './charge.ts'
import { decisionsOf, metersOf } from './charge.ts'
import type { ScopeName } from './charged-scopes.ts'
import { SCOPE_NAMES } from './charged-scopes.ts'
import type { Payer } from './payer.ts'
import type { Policy } from './policy.ts'
import { neverFits, violations } from './refusal.ts'
import { type Limit, NOT_RUNNING, type Usage, usageAt } from './window.ts'

/**
 * What limits become by ends and beginnings that are known already. Whoever has no room under a limit that ends before its window does
 * has room when it ends: 429s, `explain`, pages, previews and `/me/quota` all ask here.
 */
export interface Ahead {
  /** Whether limits may rise at moments that nobody knows, too: in mode `adaptive`. */
  readonly canRise: boolean
  /** When something begins or ends that may concern the caller, in milliseconds since the epoch, the next one first. */
  moments(payer: Payer, at: number): readonly number[]
  /** What will be in force from a moment on: good for this caller alone. */
  at(payer: Payer, moment: number): Then
}

/** What will be in force at a moment. */
export interface Then {
  readonly policy: Policy
  readonly shadow: boolean
}

/** Moments that are looked at for one caller, the next ones. */
const MOST_MOMENTS = 8

/**
 * The first moment before `until` from which a caller has room since limits change by themselves; `null` for none.
 * @param at the store's time @param until when the windows end; infinite if no waiting for them helps
 * @param hasRoom whether the windows have room under these limits at a moment. In shadow nobody asks
 */
export function freeFrom(
  ahead: Ahead,
  payer: Payer,
  at: number,
  until: number,
  hasRoom: (policy: Policy, moment: number) => boolean,
): number | null {
  let looked = 0
  for (const moment of ahead.moments(payer, at)) {
    if (moment >= until || looked++ === MOST_MOMENTS) return null
    const { policy, shadow } = ahead.at(payer, moment)
    if (shadow || policy.isShadowed(payer.user) || hasRoom(policy, moment)) return moment
  }
  return null
}

/** The same for a charge that was refused: as of its 429. */
export function roomFrom(ahead: Ahead, payer: Payer, charge: Charge, decision: Decision): number | null {
  if (decision.limits !== undefined || ahead.moments(payer, decision.at).length === 0) return null
  const [worst] = violations(charge, decision)
  if (worst === undefined) return null
  const until = neverFits(charge, decision) === null ? worst.resetAt : Number.POSITIVE_INFINITY
  const decisions = decisionsOf(decision)
  return freeFrom(ahead, payer, decision.at, until, (policy, moment) =>
    metersOf(charge).every((meter, i) => hasRoom(meter, decisions[i] as Decision, payer, policy, moment)),
  )
}

function hasRoom(meter: Meter, decision: Decision, payer: Payer, policy: Policy, moment: number): boolean {
  const then = policy.limitsFor(meter.category, payer)
  return SCOPE_NAMES.every((scope) =>
    (then[scope] ?? []).every((limit) => {
      const usage = usageIn(meter, decision, scope, limit)
      return usage !== null && usageAt(usage, limit.window, moment).used + meter.cost <= limit.limit
    }),
  )
}

/** `null` for a window that the charge was not held against: nobody has asked what is used in it. */
function usageIn({ limits }: Meter, decision: Decision, scope: ScopeName, { window }: Limit): Usage | null {
  const i = (limits[scope] ?? []).findIndex((limit) => limit.window.seconds === window.seconds)
  return i < 0 ? null : (decision[scope]?.[i] ?? NOT_RUNNING)
}

/** Where nothing begins or ends by itself. */
export const NOTHING_AHEAD: Ahead = {
  canRise: false,
  moments: () => [],
  at() {
    throw new Error('there is no moment ahead')
  },
}
