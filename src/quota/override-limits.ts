import type { Limits } from './charge.ts'
import { type LimitTable, UNLIMITED } from './limit-layers.ts'
import { limitOf } from './multiplied.ts'
import type { GrantsInForce } from './owned-grants.ts'
import { type Limit, promised, type Window } from './window.ts'

/** What administrators set for one user or organisation, and the limits that result. Pure. */

/**
 * What an administrator has set for one user. Its limits replace personal ones as they stand, whatever the mode, and also limit windows
 * that the category does not have.
 */
export interface Override {
  /** By category, then window name; a missing value follows the default. */
  readonly limits: LimitTable
  /** Tokens that pass beyond some of these limits. Default none. */
  readonly over?: LimitTable
  /**
   * Multiplies each personal limit, whether it comes from the override or from the defaults, by 0 to 100. 0 lets nothing pass.
   * Default 1.
   */
  readonly factor?: number
  /** The first day of the user's months, in `PERIOD_DAY`. Default that of the credential, the plan or the window. */
  readonly periodDay?: number
  /** The user's plan. One that is not configured has no effect. Default the plan of the credential. */
  readonly plan?: string
  /**
   * If set, the override holds only for requests whose credential names this organisation, and it only lowers limits. By default it holds
   * for all requests.
   */
  readonly within?: string
  readonly bypassGlobal: boolean
  /** Whether this user's refusals are only counted and reported, while requests pass. */
  readonly shadow: boolean
  /** Why the override was set, for administrators who ask where a limit comes from. */
  readonly reason?: string
  /** The reason of everything but the factor, if a factor with its own reason lies over this override. Default `reason`. */
  readonly beneath?: string
}

/**
 * What an administrator has set for one organisation. Its limits replace those of plans as they stand, whatever the mode. They
 * also limit windows that no plan limits. Its factor multiplies the limits of each member's plan. Where there is no limit,
 * only factor 0 makes one.
 */
export type OrganisationOverride = Pick<
  Override,
  'limits' | 'over' | 'factor' | 'periodDay' | 'within' | 'reason' | 'beneath'
>

type Lookup<T> = Pick<ReadonlyMap<string, T>, 'get' | 'size'>

/** By user. */
export interface Overrides extends Lookup<Override> {
  /** By organisation. Default none. */
  readonly organisations?: Lookup<OrganisationOverride>
  /** Whether any of them sets the day with which months begin. Default no. */
  readonly hasPeriodDays?: boolean
  /** Whether any of them holds only for requests that name an organisation. Default no. */
  readonly hasWithin?: boolean
  /** The grants of users and of organisations. Default none. */
  readonly grants?: GrantsInForce | undefined
}

/** @param windows of the configuration, shortest first @returns the same object if nothing is set for the user in this category */
export function ofUser(limits: Limits, override: Override, category: string, windows: readonly Window[]): Limits {
  const personal = withOwn(limits.personal, override, category, windows)
  const global = override.bypassGlobal ? null : limits.global
  return personal === limits.personal && global === limits.global ? limits : { ...limits, personal, global }
}

/** @param windows of the configuration, shortest first @returns the same object if nothing is set for the organisation */
export function ofOrganisation(
  limits: Limits,
  override: OrganisationOverride,
  category: string,
  windows: readonly Window[],
): Limits {
  const ofPlan = limits.organisation ?? NONE
  const organisation = withOwn(ofPlan, override, category, windows)
  return organisation === ofPlan ? limits : { ...limits, organisation }
}

const NONE: readonly Limit[] = []

/** The limits after an override has replaced some of them and added others. A factor of 0 lets nothing pass in any window. */
function withOwn(
  limits: readonly Limit[],
  override: OrganisationOverride,
  category: string,
  windows: readonly Window[],
): readonly Limit[] {
  const { factor = 1 } = override
  const own = override.limits.get(category)
  const isSet = ({ name }: Window): boolean => own?.has(name) === true || factor === 0
  if (!windows.some(isSet) && (factor === 1 || limits.length === 0)) return limits
  return windows.flatMap((window): Limit[] => {
    if (factor === 0) return [{ window, limit: 0 }]
    const planned = limits.find((each) => each.window.name === window.name)
    const value = setIn(override, own?.get(window.name), planned)
    const over = override.over?.get(category)?.get(window.name)
    if (value !== undefined) return value === UNLIMITED ? [] : [limitOf(window, { value, over }, factor)]
    if (planned === undefined || factor === 1) return planned === undefined ? [] : [planned]
    return [limitOf(window, { value: promised(planned), over: planned.over }, factor)]
  })
}

/**
 * Whether an override blocks a category, by factor 0 or by a limit of 0 beyond which nothing passes. A limit of 0 in a plan or in the
 * baselines is no block, since a grant may be meant for exactly that case.
 * @param windows of the configuration
 */
export function isBlocking(
  { factor, limits, over }: OrganisationOverride,
  category: string,
  windows: readonly Window[],
): boolean {
  const [own, beyond] = [limits.get(category), over?.get(category)]
  return factor === 0 || windows.some(({ name }) => own?.get(name) === 0 && (beyond?.get(name) ?? 0) === 0)
}

/** What an override sets for a window; `undefined` if it sets nothing, or if it may only lower limits and would not lower this limit. */
export function setIn(
  { within }: Pick<Override, 'within'>,
  own: number | undefined,
  planned: Limit | undefined,
): number | undefined {
  if (within === undefined || own === undefined || planned === undefined) return own
  return own < promised(planned) ? own : undefined
}

/** The override that holds for a caller. */
export function heldBy(override: Override | undefined, organisation: string | null): Override | undefined {
  return override?.within === undefined || override.within === organisation ? override : undefined
}

/**
 * The reason of everything that an override sets, except for a factor that lies over it for a while with a reason of its own.
 */
export function reasonBeneath(override: Pick<Override, 'reason' | 'beneath'> | undefined): string | undefined {
  return override?.beneath ?? override?.reason
}

/** A reason as it is written behind a value. */
export function because(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`
}
