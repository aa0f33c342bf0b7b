import type { Charge, Decision, Limits } from './charge.ts'
import { portion } from './decimal.ts'
import { type Limit, promised } from './window.ts'

/**
 * A part of every global limit that is kept for known users, so that new accounts cannot use up everything, however
 * many somebody makes. A user is known if the first charge was at least `knownAfterMs` ago and the last one at most
 * `rememberMs` ago.
 */
export interface Reserve {
  /** The part that is kept, above 0 and below 1. */
  readonly share: number
  readonly knownAfterMs: number
  readonly rememberMs: number
}

/** Whether a user is known, as far as the callee knows without waiting. */
export type IsKnown = (user: string) => boolean

/** The limits of a user who is not known, made from the limits of everybody. A part of less than one token is not kept. */
export function newcomersLimits(limits: Limits, share: number): Limits {
  return { ...limits, global: limits.global?.map((limit) => lessReserve(limit, share)) ?? null }
}

function lessReserve(whole: Limit, share: number): Limit {
  const kept = portion(promised(whole), share)
  return kept === 0 ? whole : { ...whole, limit: whole.limit - kept, kept }
}

/** Whether a charge was refused by a global window that has room for it in the part for known users. */
export function isOfReserve({ cost, limits }: Charge, { accepted, global, limits: ofOutage }: Decision): boolean {
  if (limits.global === null || accepted || ofOutage !== undefined || global === null) return false
  for (let i = 0; i < limits.global.length; i++) {
    const { limit, kept } = limits.global[i] as Limit
    if (kept === undefined) continue
    const after = (global[i]?.used ?? 0) + cost
    if (after > limit && after <= limit + kept) return true
  }
  return false
}
