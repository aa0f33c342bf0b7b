import type { ValueTable } from '../quota/limit-value.ts'
import type { Mode, Override } from '../quota/policy.ts'

/**
 * What administrators have changed at run time, as plain JSON in its stored form. It is kept beside the counters, and
 * every replica follows it (`change-follower.ts`).
 */

/** Limits in both scopes. Any limit may be missing. */
export interface ScopedTable {
  readonly personal?: ValueTable
  readonly global?: ValueTable
}

/** The limits of one plan. Any limit may be missing. */
export interface PlanTables {
  readonly personal?: ValueTable
  readonly organisation?: ValueTable
}

/** The changed settings. A missing value follows the file. */
export interface Changes {
  readonly mode?: Mode
  readonly global?: { readonly enabled?: boolean /** In the range `MULTIPLIER`. */; readonly multiplier?: number }
  readonly baselines?: ScopedTable
  /** Limits of mode `custom`. A value that is missing here and in the file is that of the baseline. */
  readonly custom?: ScopedTable
  /** Limits of plans, by name. A missing value follows the plan in the file, or else the baselines. */
  readonly plans?: Readonly<Record<string, PlanTables>>
  /** Whether refusals are only counted and reported, for every route and user. */
  readonly shadow?: boolean
}

/** A value that was set for a while or for later. It lies above the permanent value without changing it. */
export interface Layer<V = unknown> {
  readonly id: string
  /** When the layer begins and ends, in milliseconds since the epoch on the store's clock; `null` if it never ends. */
  readonly from: number
  readonly until: number | null
  /** A merge patch of the settings, like the body of `PATCH /api/quota`; or a whole override. */
  readonly value: V
  /** A layer with a guard is removed if too many requests are refused, and stays a layer until that is decided. */
  readonly guard?: Guard
  /** The beginning of the layer is in the audit already. */
  readonly begun?: true
  /** The administrator and the reason; `null` if only the audit knows. */
  readonly who: string | null
  readonly why: string | null
}

export interface Guard {
  /** The id under which requests are counted. */
  readonly id: string
  readonly until: number
  /** The share of the charged requests that may be refused, above 0 and below 1. */
  readonly refused: number
}

/** Oldest beginning first. */
export interface Layers {
  readonly layers?: readonly Layer[]
}

/**
 * The stored form of a value: the permanent value with the layers above it, or layers alone. Without layers it is the value
 * itself, and so is a single override with an end.
 */
export type Packed<T> = (T & Layers) | Required<Layers>

/**
 * What was set for one user. It has the fields of an override in a policy, but its limits are as they were written. If it sets only a
 * factor, the override below it stays in force and is multiplied. If it has `within`, it sets only limits. None is stored with `beneath`.
 */
export interface UserOverride extends Omit<Override, 'limits' | 'over'> {
  readonly limits: ValueTable
  /** Why, 1 to 500 characters. */
  readonly reason: string
  /** When it ends, in milliseconds since the epoch on the store's clock; `null` for never. */
  readonly expiresAt: number | null
}

/**
 * What was set for one organisation. Its limits replace those of plans, whatever the mode, also in windows that no plan limits. Its factor
 * multiplies these limits and those that the plan of each member sets for the organisation.
 */
export type OrganisationOverride = Omit<UserOverride, 'plan' | 'within' | 'bypassGlobal' | 'shadow'>

/** Extra tokens that were given once to a user or an organisation. */
export interface GivenGrant {
  /** Absent for a grant of an organisation. */
  readonly user?: string
  readonly organisation?: string
  readonly category: string
  /** At least 1. */
  readonly tokens: number
  /** The time in which the grant pays, in milliseconds since the epoch on the store's clock. */
  readonly givenAt: number
  readonly until: number
  /** The reason, 1 to 500 characters. */
  readonly reason: string
  /** When an administrator ended the grant; `null` if nobody did. */
  readonly endedAt: number | null
}

/** A value and the number of the change that made it; 0 if there was never a change. */
export interface Versioned<T> {
  readonly version: number
  readonly value: T
}

/**
 * The last change of any kind. A store that has lost data uses numbers again, so a change is identified by both number and
 * time.
 */
export interface LastChange {
  /** Counts the changes one by one; 0 before the first. */
  readonly version: number
  /** When it was made, in milliseconds since the epoch on the store's clock; 0 before the first. */
  readonly changedAt: number
}

/** Everything that was changed, in its stored form. */
export interface StoredControl extends LastChange {
  readonly settings: Versioned<Packed<Changes>>
  /** By user. */
  readonly overrides: ReadonlyMap<string, Versioned<Packed<UserOverride>>>
  /** By organisation. */
  readonly organisationOverrides: ReadonlyMap<string, Versioned<Packed<OrganisationOverride>>>
  /** By id, including ended ones. */
  readonly grants: ReadonlyMap<string, Versioned<GivenGrant>>
}

/** Everything that was changed and is in force now. */
export interface ControlState extends LastChange {
  readonly settings: Versioned<Changes>
  /** By user. */
  readonly overrides: ReadonlyMap<string, Versioned<UserOverride>>
  /** By organisation. */
  readonly organisationOverrides: ReadonlyMap<string, Versioned<OrganisationOverride>>
  /** By id. */
  readonly grants: ReadonlyMap<string, Versioned<GivenGrant>>
  /** The stored form with all layers; absent if it is the same. */
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
