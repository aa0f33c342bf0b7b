import type { Limits } from './charge.ts'
import type { LimitTable } from './limit-layers.ts'
import type { Limit, Window } from './window.ts'

/** What administrators set for one user or one organisation, and the limits that it makes: pure. */

/** What an administrator has set for one user; its limits replace the personal ones as they stand, whatever the mode, and limit windows that the category does not have. */
export interface Override {
  /** By category, then window name; a missing value follows the default. */
  readonly limits: LimitTable
  /** The user's plan, whatever the credential says. One that is not configured says nothing. Default that of the credential. */
  readonly plan?: string
  readonly bypassGlobal: boolean
  /** Whether this user's refusals are only counted and reported. */
  readonly shadow: boolean
  /** Why, for whoever asks where a limit comes from. */
  readonly reason?: string
}

/**
 * What an administrator has set for one organisation. Its limits replace those of plans as they stand, whatever the mode. In
 * a window that no plan limits they limit too.
 */
export type OrganisationOverride = Pick<Override, 'limits' | 'reason'>

type Lookup<T> = Pick<ReadonlyMap<string, T>, 'get' | 'size'>

/** By user. */
export interface Overrides extends Lookup<Override> {
  /** By organisation. Default none. */
  readonly organisations?: Lookup<OrganisationOverride>
}

type Own = ReadonlyMap<string, number> | undefined

/** @param windows of the configuration, shortest first @returns the same object if nothing is set for the user here: a batch sends each set once */
export function ofUser(limits: Limits, own: Own, bypassGlobal: boolean, windows: readonly Window[]): Limits {
  const personal = withOwn(limits.personal, own, windows)
  const global = bypassGlobal ? null : limits.global
  return personal === limits.personal && global === limits.global ? limits : { ...limits, personal, global }
}

/** @param windows of the configuration, shortest first @returns the same object if nothing is set for the organisation here */
export function ofOrganisation(limits: Limits, own: Own, windows: readonly Window[]): Limits {
  const ofPlan = limits.organisation ?? NONE
  const organisation = withOwn(ofPlan, own, windows)
  return organisation === ofPlan ? limits : { ...limits, organisation }
}

const NONE: readonly Limit[] = []

/** Limits with those of an override instead, and beside them where the category has no such window. */
function withOwn(limits: readonly Limit[], own: Own, windows: readonly Window[]): readonly Limit[] {
  if (own === undefined || !windows.some(({ name }) => own.has(name))) return limits
  return windows.flatMap((window): Limit[] => {
    const limit = own.get(window.name) ?? limits.find((each) => each.window.name === window.name)?.limit
    return limit === undefined ? [] : [{ window, limit }]
  })
}

/** The reason of an override, behind a value. */
export function because(override: Pick<Override, 'reason'> | undefined): string {
  return override?.reason === undefined ? '' : ` (${override.reason})`
}
