import type { Mode } from '../quota/policy.ts'

/**
 * What administrators have changed at run time, as it is stored and sent: plain JSON. It lives beside the counters, and
 * every replica follows it (`change-follower.ts`).
 */

/** Tokens by category, then by window name; any of them may be missing. */
export type Table = Readonly<Record<string, Readonly<Record<string, number>>>>

/** The same in both scopes. */
export interface ScopedTable {
  readonly personal?: Table
  readonly global?: Table
}

/** The settings that were changed; what is missing here follows the file. */
export interface Changes {
  readonly mode?: Mode
  readonly global?: { readonly enabled?: boolean /** In `MULTIPLIER`. */; readonly multiplier?: number }
  readonly baselines?: ScopedTable
  /** Explicit limits of mode `custom`; what is missing here and in the file is the baseline. */
  readonly custom?: ScopedTable
  /** Whether refusals are only counted and reported, for every route and user. */
  readonly shadow?: boolean
  /** What gateways are to change by themselves. Without anything it is missing. */
  readonly pending?: Pending
}

/** What gateways are to change by themselves; times are in milliseconds since the epoch, on the store's clock. */
export interface Pending {
  readonly guard?: Guard
  readonly starts?: readonly Start[]
  readonly ends?: readonly End[]
}

/** A change that was made, and is taken back if too many requests are refused after it. Any other change of the settings ends it. */
export interface Guard {
  readonly id: string
  readonly until: number
  /** The share of the charged requests that may be refused, above 0 and below 1. */
  readonly refused: number
  readonly leaves: readonly Leaf[]
  readonly who: string
  readonly why: string | null
}

/** A change that is to be made later. */
export interface Start {
  readonly id: string
  readonly at: number
  /** As the body of `PATCH /api/quota` has it. */
  readonly patch: Readonly<Record<string, unknown>>
  /** When it ends by itself; `null` for never. */
  readonly until: number | null
  /** How it is guarded once it is made. */
  readonly guard?: { readonly forMs: number; readonly refused: number }
  /** The administrator, and the reason given. */
  readonly who: string
  readonly why: string | null
}

/** A change that was made, and is to be taken back later. What others set meanwhile is none of it any more. */
export interface End {
  readonly id: string
  readonly at: number
  readonly leaves: readonly Leaf[]
  readonly who: string
  readonly why: string | null
}

/** One value of the settings that a change replaced. */
export interface Leaf {
  /** The names of its members, from the outermost on. */
  readonly path: readonly string[]
  /** Before and after; `null` follows the file. */
  readonly from: unknown
  readonly to: unknown
}

/** What was set for one user. */
export interface UserOverride {
  /** Personal limits that replace those of the settings as they stand. */
  readonly limits: Table
  /** The user's plan. Default that of the credential. */
  readonly plan?: string
  /** Whether the global scope is neither checked nor charged for this user. */
  readonly bypassGlobal: boolean
  /** Whether this user's refusals are only counted and reported. */
  readonly shadow: boolean
  /** Why, 1 to 500 characters. */
  readonly reason: string
  /** When it ends by itself, in milliseconds since the epoch on the store's clock; `null` for never. */
  readonly expiresAt: number | null
}

/** What was set for one organisation. */
export interface OrganisationOverride {
  /** Limits of the organisation that replace those of plans as they stand, also in windows that no plan limits. */
  readonly limits: Table
  /** Why, 1 to 500 characters. */
  readonly reason: string
  /** As of a `UserOverride`. */
  readonly expiresAt: number | null
}

/** A value and the number of the change that made it; 0 where nothing was ever changed. */
export interface Versioned<T> {
  readonly version: number
  readonly value: T
}

/**
 * Which change was the last, of any kind. A store that has lost data gives the same numbers to other changes: only with its
 * time is it the same one.
 */
export interface LastChange {
  /** Counts the changes one by one; 0 before the first. */
  readonly version: number
  /** When it was made, in milliseconds since the epoch on the store's clock; 0 before the first. */
  readonly changedAt: number
}

/** Everything that was changed, as it is now. */
export interface ControlState extends LastChange {
  readonly settings: Versioned<Changes>
  /** By user; also those that have expired and were not taken away yet. */
  readonly overrides: ReadonlyMap<string, Versioned<UserOverride>>
  /** The same by organisation. */
  readonly organisationOverrides: ReadonlyMap<string, Versioned<OrganisationOverride>>
}

export const UNCHANGED: ControlState = Object.freeze({
  version: 0,
  changedAt: 0,
  settings: { version: 0, value: {} },
  overrides: new Map(),
  organisationOverrides: new Map(),
})
