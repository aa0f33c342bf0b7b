import type { Limits } from './charge.ts'
import { type LimitTable, UNLIMITED } from './limit-layers.ts'
import { limitOf } from './multiplied.ts'
import type { GrantsInForce } from './owned-grants.ts'
import { type Limit, promised, type Window } from './window.ts'

/** What administrators set for one user or one organisation, and the limits that it makes: pure. */

/** What an administrator has set for one user; its limits replace the personal ones as they stand, whatever the mode, and limit windows that the category does not have. */
export interface Override {
  /** By category, then window name; a missing value follows the default. */
  readonly limits: LimitTable
  /** Tokens that pass beyond some of them. Default none. */
  readonly over?: LimitTable
  /** Multiplies each personal limit, its own ones and those that follow the default. 0 lets nothing pass. Default 1. */
  readonly factor?: number
  /** The day with which months of the user begin, in `PERIOD_DAY`, whatever the credential and the plan say. Default that of these. */
  readonly periodDay?: number
  /** The user's plan, whatever the credential says. One that is not configured says nothing. Default that of the credential. */
  readonly plan?: string
  /**
   * The organisation within which it holds: for requests whose credential names it, and never above what they would have without it.
   * Default everywhere.
   */
  readonly within?: string
  readonly bypassGlobal: boolean
  /** Whether this user's refusals are only counted and reported. */
  readonly shadow: boolean
  /** Why, for whoever asks where a limit comes from. */
  readonly reason?: string
  /** Why all but its factor is so, if that is of another one, which lies over it. Default `reason`. */
  readonly beneath?: string
}

/**
 * What an administrator has set for one organisation. Its limits replace those of plans as they stand, whatever the mode. In
 * a window that no plan limits they limit too. Its factor multiplies the limits that the plan of each member has, and makes no
 * limit where there is none, but for factor 0.
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
  /** Of users and of organisations. Default none */
  readonly grants?: GrantsInForce | undefined
}

/** @param windows of the configuration, shortest first @returns the same object if nothing is set for the user here: a batch sends each set once */
export function ofUser(limits: Limits, override: Override, category: string, windows: readonly Window[]): Limits {
  const personal = withOwn(limits.personal, override, category, windows)
  const global = override.bypassGlobal ? null : limits.global
  return personal === limits.personal && global === limits.global ? limits : { ...limits, personal, global }
}

/** @param windows of the configuration, shortest first @returns the same object if nothing is set for the organisation here */
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

/** Limits with those of an override instead, and beside them where the category has no such window; a factor of 0 lets nothing pass in any window. */
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
 * Whether an override blocks in a category: by factor 0, or by a limit of 0 in some window, beyond which nothing passes. What a plan or the
 * baselines set to 0 is no block, since a grant may be meant for just that.
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

/** What an override sets for a window: nothing where it may only lower what is lower already. */
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

/** The reason of an override for all that it sets but the factor, which may lie over it for a while with a reason of its own. */
export function reasonBeneath(override: Pick<Override, 'reason' | 'beneath'> | undefined): string | undefined {
  return override?.beneath ?? override?.reason
}

/** A reason, behind a value. */
export function because(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`
}
