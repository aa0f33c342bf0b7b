import { createHash } from 'node:crypto'
import type { ScopeName } from '../quota/charged-scopes.ts'
import type { AlertScope } from './alert-scopes.ts'

/** What operators want to know of before somebody complains: a window that fills up, and an upstream that fails. */

/** A share of the limit of a window. */
export interface WindowAlert {
  /** Unique among all alerts. */
  readonly name: string
  /** `personal`: of each user by itself; `organisation`: of each organisation; `global`: of all together. */
  readonly scope: ScopeName
  readonly category: string
  /** Name of the window. */
  readonly window: string
  /** The thresholds: shares of the limit, above 0 up to 1, each once, rising. */
  readonly at: readonly number[]
}

/** A share of failures (status 0 and 5xx) among the forwarded requests of a half hour. */
export interface FailureAlert {
  readonly name: string
  readonly scope: 'failures'
  /** Shares of the requests, as above. */
  readonly at: readonly number[]
  /** A half hour with fewer requests says nothing. At least 1. */
  readonly minRequests: number
}

export type Alert = WindowAlert | FailureAlert

/** A threshold that was reached: what receivers are notified of. Plain JSON. Times in milliseconds since the epoch, on the store's clock. */
export interface Happening {
  /** Name of the alert. */
  readonly alert: string
  readonly scope: AlertScope
  /** The user or the organisation; `null` in any other scope. */
  readonly subject: string | null
  /** Of the window, as its name; `null` where none is watched. */
  readonly category: string | null
  readonly window: string | null
  /** The highest threshold that was reached. */
  readonly threshold: number
  /** Tokens of the window; of failures the requests that failed, and all of them. */
  readonly used: number
  readonly limit: number
  /** When that was noticed. */
  readonly at: number
  /** The run of the window, or the half hour. */
  readonly startedAt: number
  readonly endsAt: number
}

/** What makes a happening the only one of its kind. Of one place and run a higher threshold comes once more, a lower one does not. */
export interface Claim {
  /** The alert and whose window it is. */
  readonly place: string
  /** Start of the run: a later one begins anew. */
  readonly run: number
  readonly threshold: number
  readonly endsAt: number
}

export interface Noticed {
  readonly claim: Claim
  readonly happening: Happening
}

/** The subject comes last, as it may hold any characters; names hold no colon. */
export function placeOf(alert: Alert, seconds: number, subject: string): string {
  if (alert.scope === 'failures') return `${alert.name}:failures`
  return `${alert.name}:${alert.scope}:${alert.category}:${seconds}:${subject}`
}

/** By which two alerts with one receiver are known, whatever their names and secrets: the path of an address may be a secret. */
export function targetOf(url: string): string {
  return createHash('sha256').update(url).digest('base64url')
}

/** The user of whom a place is; `null` for another one. */
export function userOfPlace(place: string): string | null {
  return /^[^:]*:personal:[^:]*:\d+:(.*)$/su.exec(place)?.[1] ?? null
}

/** The least whole number that is a share of an amount. No rounding of the product makes it one more: 80% of 120 is 96. */
export function leastOf(share: number, amount: number): number {
  return Math.ceil(Number((share * amount).toPrecision(14)))
}
