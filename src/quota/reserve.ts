import type { Charge, Decision, Limits } from './charge.ts'
import { portion } from './decimal.ts'
import { type Limit, promised } from './window.ts'

/**
 * A part of every global limit that is kept for known users. It serves users of old accounts however many new accounts
 * somebody has. A user is known whose first charge lies `knownAfterMs` back and whose last one no more than
 * `rememberMs`.
 */
export interface Reserve {
  /** The part that is kept, above 0 and below 1. */
  readonly share: number
  readonly knownAfterMs: number
  readonly rememberMs: number
}

/** Whether a user is known, as far as whoever is asked can tell without waiting. */
export type IsKnown = (user: string) => boolean

/** The limits of a user who is not known, from those of everybody. Nothing is kept of a limit whose part is less than a token. */
export function newcomersLimits(limits: Limits, share: number): Limits {
  return { ...limits, global: limits.global?.map((limit) => lessReserve(limit, share)) ?? null }
}

function lessReserve(whole: Limit, share: number): Limit {
  const kept = portion(promised(whole), share)
  return kept === 0 ? whole : { ...whole, limit: whole.limit - kept, kept }
}

/** Whether a charge was refused by a global window that has room for it in what is kept for known users. */
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
