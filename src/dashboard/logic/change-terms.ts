import type { QuotaPatch } from '../../contract/api.ts'
import type { Problem, Problems } from '../i18n/en.ts'
import { type Expiry, expiryOf } from './override.ts'

/** How a change of the settings is made: when, for how long, with which guard, and why. */

export const GUARD_TIMES = ['10m', '30m', '1h', '6h', '1d'] as const
export type GuardTime = (typeof GUARD_TIMES)[number]

/** The terms of a change, as typed. */
export interface Terms {
  readonly reason: string
  /** How long requests are counted; empty for no guard. */
  readonly guard: GuardTime | ''
  /** The share of refused requests, in percent, at which the change is taken back. */
  readonly refused: string
  /** The begin in the browser's zone, `2026-11-21T18:00`; empty for now. */
  readonly from: string
  readonly until: Expiry
}

export const NO_TERMS: Terms = { reason: '', guard: '', refused: '5', from: '', until: { kind: 'never' } }

export type TermsBody = Pick<QuotaPatch, 'reason' | 'guard' | 'from' | 'until'>

/** Terms as a part of the change's body. @param now milliseconds since the epoch */
export function termsBodyOf(terms: Terms, now: number): { readonly body: TermsBody; readonly problems: Problems } {
  const reason = terms.reason.trim()
  const from = terms.from === '' ? null : expiryOf({ kind: 'at', local: terms.from }, now)
  const until = expiryOf(terms.until, now)
  const problems: Record<string, Problem> = {}
  if (terms.guard !== '' && !isShare(terms.refused)) problems['guard.refused'] = 'problem.refused'
  if (from === undefined) problems.from = 'problem.expiry'
  if (until === undefined) problems.until = 'problem.expiry'
  else if (from && until !== null && until <= from) problems.until = 'problem.untilFrom'
  return {
    body: {
      ...(reason !== '' && { reason }),
      ...(terms.guard !== '' && { guard: { for: terms.guard, refused: `${terms.refused.trim()}%` } }),
      ...(from && { from }),
      ...(until && { until }),
    },
    problems,
  }
}

function isShare(text: string): boolean {
  const percent = Number(text.trim())
  return /^\d+(\.\d+)?$/.test(text.trim()) && percent > 0 && percent < 100
}
