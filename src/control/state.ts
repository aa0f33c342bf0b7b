import type { ValueTable } from '../quota/limit-value.ts'
import type { Mode } from '../quota/policy.ts'

/**
 * What administrators have changed at run time, as it is stored and sent: plain JSON. It lives beside the counters, and
 * every replica follows it (`change-follower.ts`).
 */

/** Limits in both scopes; any of them may be missing. */
export interface ScopedTable {
  readonly personal?: ValueTable
  readonly global?: ValueTable
}

/** The limits of one plan; any of them may be missing. */
export interface PlanTables {
  readonly personal?: ValueTable
  readonly organisation?: ValueTable
}

/** The settings that were changed; what is missing here follows the file. */
export interface Changes {
  readonly mode?: Mode
  readonly global?: { readonly enabled?: boolean /** In `MULTIPLIER`. */; readonly multiplier?: number }
  readonly baselines?: ScopedTable
  /** Explicit limits of mode `custom`; what is missing here and in the file is the baseline. */
  readonly custom?: ScopedTable
  /** Limits of plans, by name; what is missing follows the plan in the file, and the baselines where that has none. */
  readonly plans?: Readonly<Record<string, PlanTables>>
  /** Whether refusals are only counted and reported, for every route and user. */
  readonly shadow?: boolean
}

/** One value that was set over time. It lies above what is permanent, and takes nothing of that away. */
export interface Layer<V = unknown> {
  readonly id: string
  /** When it begins and ends, in milliseconds since the epoch on the store's clock; `null` for never. */
  readonly from: number
  readonly until: number | null
  /** Of settings a merge patch, as the body of `PATCH /api/quota` has it; else the override as a whole. */
  readonly value: V
  /** Taken away if too many requests are refused. It is kept as a layer as long as that is open. */
  readonly guard?: Guard
  /** Its beginning stands in the audit. */
  readonly begun?: true
  /** The administrator, and the reason given; `null` where only the audit knows. */
  readonly who: string | null
  readonly why: string | null
}

export interface Guard {
  /** Under which requests are counted. */
  readonly id: string
  readonly until: number
  /** The share of the charged requests that may be refused, above 0 and below 1. */
  readonly refused: number
}

/** By their beginnings, the oldest first. */
export interface Layers {
  readonly layers?: readonly Layer[]
}

/**
 * A value as it is stored: the permanent one with the layers above it, or layers alone. Without layers, and for an override with
 * an end that lies above nothing, it is the value itself.
 */
export type Packed<T> = (T & Layers) | Required<Layers>

/** What was set for one user. */
export interface UserOverride {
  /** Personal limits that replace those of the settings as they stand. */
  readonly limits: ValueTable
  /**
   * Multiplies these limits and those that follow the default, from 0 to 100; 0 lets nothing pass. One that sets a factor and nothing
   * else multiplies whatever lies under it. Default 1.
   */
  readonly factor?: number
  /** The day with which months begin, in `PERIOD_DAY`. Default that of the credential, the plan, or the window. */
  readonly periodDay?: number
  /** The user's plan. Default that of the credential. */
  readonly plan?: string
  /**
   * The organisation within which it holds: for requests whose credential names it, and never above what they would have without it.
   * Such a one sets limits alone. Default everywhere.
   */
  readonly within?: string
  /** Whether the global scope is neither checked nor charged for this user. */
  readonly bypassGlobal: boolean
  /** Whether this user's refusals are only counted and reported. */
  readonly shadow: boolean
  /** Why, 1 to 500 characters. */
  readonly reason: string
  /** Why all but the factor is so, where one in force multiplies another one. No stored one has it. */
  readonly beneath?: string
  /** When it ends by itself, in milliseconds since the epoch on the store's clock; `null` for never. */
  readonly expiresAt: number | null
}

/** What was set for one organisation. */
export interface OrganisationOverride {
  /** Limits of the organisation that replace those of plans as they stand, also in windows that no plan limits. */
  readonly limits: ValueTable
  /** As of a `UserOverride`: it multiplies the limits that the plan of each member has. */
  readonly factor?: number
  /** As of a `UserOverride`, of the organisation. */
  readonly periodDay?: number
  /** Why, 1 to 500 characters. */
  readonly reason: string
  /** As of a `UserOverride`. */
  readonly beneath?: string
  /** As of a `UserOverride`. */
  readonly expiresAt: number | null
}

/** Extra tokens that were given once, to a user or to an organisation. */
export interface GivenGrant {
  /** Missing for one of an organisation. */
  readonly user?: string
  readonly organisation?: string
  readonly category: string
  /** At least 1. */
  readonly tokens: number
  /** On the store's clock, in milliseconds since the epoch: from when it may be taken from, and from when no more. */
  readonly givenAt: number
  readonly until: number
  /** Why, 1 to 500 characters. */
  readonly reason: string
  /** When an administrator ended it; `null` if none has. */
  readonly endedAt: number | null
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

/** Everything that was changed, as it is stored. */
export interface StoredControl extends LastChange {
  readonly settings: Versioned<Packed<Changes>>
  /** By user. */
  readonly overrides: ReadonlyMap<string, Versioned<Packed<UserOverride>>>
  /** By organisation. */
  readonly organisationOverrides: ReadonlyMap<string, Versioned<Packed<OrganisationOverride>>>
  /** By id, those that have ended too. */
  readonly grants: ReadonlyMap<string, Versioned<GivenGrant>>
}

/** Everything that was changed, as far as it is in force now. */
export interface ControlState extends LastChange {
  readonly settings: Versioned<Changes>
  /** By user. */
  readonly overrides: ReadonlyMap<string, Versioned<UserOverride>>
  /** By organisation. */
  readonly organisationOverrides: ReadonlyMap<string, Versioned<OrganisationOverride>>
  /** By id. */
  readonly grants: ReadonlyMap<string, Versioned<GivenGrant>>
  /** What is stored, with all layers; missing if that is the same. */
  readonly stored?: StoredControl
}

export function storedOf(state: ControlState): StoredControl {
  return state.stored ?? state
}

export const UNCHANGED: ControlState = Object.freeze({
  version: 0,
  changedAt: 0,
  settings: { version: 0, value: {} },
  overrides: new Map(),
  organisationOverrides: new Map(),
  grants: new Map(),
})
