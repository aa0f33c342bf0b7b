import { madeOnce } from '../lib/memo.ts'
import type { Limits } from './charge.ts'
import type { ScopeName } from './charged-scopes.ts'
import { accountOf } from './grant.ts'
import {
  amountOf,
  createPlanLayers,
  type Layer,
  type Layers,
  type LimitScope,
  type Origin,
  type PlanLayers,
  type QuotaSettings,
} from './limit-layers.ts'
import { isExact, multiplied } from './multiplied.ts'
import {
  because,
  heldBy,
  isBlocking,
  type OrganisationOverride,
  type Override,
  type Overrides,
  ofOrganisation,
  ofUser,
  reasonBeneath,
  setIn,
} from './override-limits.ts'
import { grantedLimits, grantsOwnedBy, type OwnedGrant } from './owned-grants.ts'
import type { Payer } from './payer.ts'
import { createMonths, isMonth, type MonthsShown, type PeriodDay } from './period-days.ts'
import { type IsKnown, newcomersLimits } from './reserve.ts'
import { type Limit, promised, type Window } from './window.ts'

/** Makes the limits in force from what administrators set: pure. */

export {
  type Layer,
  type LimitTable,
  MODES,
  type Mode,
  MULTIPLIER,
  modeFactor,
  type Origin,
  type PlanLimits,
  type Plans,
  type QuotaSettings,
  type ScopedLimits,
  UNLIMITED,
} from './limit-layers.ts'
export { MAX_LIMIT } from './multiplied.ts'
export type { OrganisationOverride, Override, Overrides } from './override-limits.ts'
export { memberOf, type Payer, payerOf } from './payer.ts'

/** Which plan somebody has. */
export interface PlanInForce {
  /** A plan of the configuration; `null` for none. */
  readonly name: string | null
  readonly from: 'override' | 'credential' | 'default' | null
  /** The plan that the credential names, if the configuration does not have it. */
  readonly unknown: string | null
}

/** The name of a plan in metrics; `null` if the configuration has no plans. */
export function planLabel(plan: PlanInForce | null): string | null {
  return plan === null ? null : (plan.name ?? 'none')
}

/** The limits in force. They are worked out once for each change of settings, so that a request only looks them up. */
export interface Policy extends MonthsShown {
  readonly categories: readonly string[]
  /** Names of the plans, in the order of the configuration. */
  readonly plans: readonly string[]
  /**
   * The limits of users without an override whose credential names no plan and no organisation.
   * @param plan one of `plans`, for the limits of its users who belong to an organisation
   * @throws Error for a category that the settings do not have. Routes are checked for this when the configuration is
   * loaded
   */
  limitsOf(category: string, plan?: string): Limits
  /**
   * The limits of such users while they are not known yet. If a reserve is kept, their global limits are lower. Their months begin with the
   * day of the window, even if the default plan has another day.
   * @throws Error as `limitsOf`
   */
  limitsOfNewcomers(category: string): Limits
  /**
   * The limits of one caller, from his plan and what was set for the user and the organisation. If a reserve is kept, users who are not
   * known have lower global limits. Equal limits are the same object while this policy lives, because caches use them as keys.
   * @throws Error as `limitsOf`
   */
  limitsFor(category: string, payer: Payer): Limits
  /** The grants that may pay for a caller if windows have no room, those of the user first. */
  grantsOf(payer: Payer): readonly OwnedGrant[]
  /** The names under which a caller is counted: all categories in order, then the accounts of `grantsOf`. */
  countedOf(payer: Payer): readonly string[]
  /** The plan that chooses a caller's limits; `null` if the configuration has no plans. */
  planOf(payer: Payer): PlanInForce | null
  /** Whether limits may depend on what a credential names: the plan, the organisation or the first day of months. */
  readonly namesMatter: boolean
  /** Whether an override demands that the user's refusals are only counted and reported. */
  isShadowed(user: string): boolean
  /** How the limits of one caller came about. @param origin says where a value was written. @throws Error as `limitsOf` */
  trace(category: string, payer: Payer, origin?: Origin): Trace
  /**
   * The layer that holds the value of a caller's limit before it is multiplied, or `override` for a factor of 0; `null` if no layer has a value.
   * @throws Error as `limitsOf`
   */
  layerOf(scope: ScopeName, category: string, payer: Payer, window: string): Layer | 'override' | null
  /**
   * Whether a personal limit of a caller is made from the settings for everybody, and not from a plan or an override.
   * @throws Error as `limitsOf`
   */
  followsSettings(category: string, payer: Payer, window: string): boolean
  /**
   * The names of the layers that made one limit of a caller, as in `trace`. They are worked out once for equal limits of a plan, so
   * that each refusal can ask for them. @throws Error as `limitsOf`
   */
  sourceOf(category: string, payer: Payer, scope: ScopeName, window: string): string
}

/** A limit in force and the layers that made it. */
export interface LimitTrace extends Limit, Layers {}

export interface Trace {
  readonly personal: readonly LimitTrace[]
  readonly organisation: readonly LimitTrace[] | null
  readonly global: readonly LimitTrace[] | null
  /**
   * Why the global scope does not apply: it is switched off, has no limit, or an override bypasses it. `null` if it
   * applies.
   */
  readonly noGlobal: 'switched off' | 'no limit' | { readonly bypass: string } | null
}

const NO_OVERRIDES = new Map<string, never>()
const NOBODY: IsKnown = () => false

/** @param isKnown whether a user without an override may use the reserve. It is asked each time. Default nobody may */
export function createPolicy(
  settings: QuotaSettings,
  adaptive = 1,
  overrides: Overrides = NO_OVERRIDES,
  isKnown: IsKnown = NOBODY,
): Policy {
  const { reserve, books, windows, defaultPlan = null } = settings
  const categories = [...settings.baselines.personal.keys()]
  const plans = [...(settings.plans?.keys() ?? [])]
  const layers = new Map([null, ...plans].map((plan) => [plan, createPlanLayers(settings, adaptive, plan)]))
  const tiers = new Map(categories.map((category) => [category, createTiers(settings, layers, category)]))
  const { organisations = NO_OVERRIDES } = overrides
  /** By id. Only users and organisations with an override are remembered, from their first request on. */
  const own = { users: madeOnce<Limits, string>(), organisations: madeOnce<Limits, string>() }
  const granted = overrides.grants === undefined ? null : grantedLimits(overrides.grants, blockedBy(overrides, windows))
  const withoutBooks = new WeakMap<Limits, Limits>()
  const planOf = createPlanOf(settings, overrides)
  const months = createMonths(settings, overrides, (payer) => planOf(payer)?.name ?? null)

  function tiersOf(category: string): Tiers {
    const found = tiers.get(category)
    if (found === undefined) throw new Error(`no limits for category ${category}`)
    return found
  }

  function limitsOf(category: string, plan?: string): Limits {
    const { byPlan, byDefault } = tiersOf(category)
    const ofPlan = plan === undefined ? undefined : byPlan.get(plan)
    const limits = ofPlan === undefined ? byDefault.alone.known : ofPlan.member.known
    return months.ofPlan(limits, ofPlan === undefined ? defaultPlan : (plan ?? null))
  }

  function limitsOfNewcomers(category: string): Limits {
    return tiersOf(category).byDefault.alone.newcomer
  }

  function limitsFor(category: string, payer: Payer): Limits {
    const booked = bookedLimits(category, payer)
    const ownBooks = books === undefined || books.isKept(payer.user) ? booked : unbooked(booked)
    const limits = months.ofPayer(ownBooks, payer)
    return granted === null ? limits : granted(limits, category, payer)
  }

  function bookedLimits(category: string, { user, organisation, plan }: Payer): Limits {
    const override = overrides.size === 0 ? undefined : heldBy(overrides.get(user), organisation)
    const { byPlan, byDefault } = tiersOf(category)
    const tier = byPlan.size === 0 ? byDefault : (tierOf(byPlan, override?.plan, plan) ?? byDefault)
    const standing = organisation === null ? tier.alone : tier.member
    // An override that can only lower limits does not make a user known.
    const isOnlyLess = override === undefined || override.within !== undefined
    const isNewcomer = isOnlyLess && reserve !== undefined && !isKnown(user)
    const limits = organisationLimits(category, organisation, isNewcomer ? standing.newcomer : standing.known)
    if (override === undefined) return limits
    return own.users(limits, user, () => ofUser(limits, override, category, settings.windows))
  }

  /** Limits of a user whose days are not kept. */
  function unbooked(limits: Limits): Limits {
    const known = withoutBooks.get(limits)
    if (known !== undefined) return known
    const { books: _none, ...rest } = limits
    withoutBooks.set(limits, rest)
    return rest
  }

  function organisationLimits(category: string, organisation: string | null, limits: Limits): Limits {
    if (organisation === null || organisations.size === 0) return limits
    const override = organisations.get(organisation)
    if (override === undefined) return limits
    const make = () => ofOrganisation(limits, override, category, settings.windows)
    return own.organisations(limits, organisation, make)
  }

  function grantsOf(payer: Payer): readonly OwnedGrant[] {
    return overrides.grants === undefined ? [] : grantsOwnedBy(overrides.grants, payer, categories)
  }

  function countedOf(payer: Payer): readonly string[] {
    const grants = grantsOf(payer)
    return grants.length === 0 ? categories : [...categories, ...grants.map(({ grant }) => accountOf(grant.id))]
  }

  function isShadowed(user: string): boolean {
    return overrides.get(user)?.shadow === true
  }

  return {
    categories,
    plans,
    limitsOf,
    limitsOfNewcomers,
    limitsFor,
    grantsOf,
    countedOf,
    planOf,
    ...months.shown,
    namesMatter: doNamesMatter(settings, overrides),
    isShadowed,
    ...createTraces({ settings, overrides, layers, limitsOf, limitsFor, planOf, ...months.shown }),
  }
}

/** Whether any limits depend on what credentials name. */
export function doNamesMatter(
  { plans, hasNamedDays }: Pick<QuotaSettings, 'plans' | 'hasNamedDays'>,
  { organisations, hasWithin, grants }: Overrides,
): boolean {
  const limitsOrganisations = (organisations?.size ?? 0) > 0 || (grants?.organisations.size ?? 0) > 0
  return hasNamedDays === true || hasWithin === true || (plans?.size ?? 0) > 0 || limitsOrganisations
}

/** Finds the plan of a payer. */
function createPlanOf(settings: QuotaSettings, overrides: Overrides): Policy['planOf'] {
  const { plans, defaultPlan = null } = settings
  return ({ user, plan }) => {
    if (plans === undefined) return null
    const set = overrides.get(user)?.plan
    if (set !== undefined && plans.has(set)) return { name: set, from: 'override', unknown: null }
    if (plan !== null && plans.has(plan)) return { name: plan, from: 'credential', unknown: null }
    return { name: defaultPlan, from: defaultPlan === null ? null : 'default', unknown: plan }
  }
}

/** Whether an override blocks a caller in a category. @param windows of the configuration */
function blockedBy(overrides: Overrides, windows: readonly Window[]) {
  return (scope: OwnedGrant['scope'], category: string, { user, organisation }: Payer): boolean => {
    const ofUser = scope === 'personal' ? heldBy(overrides.get(user), organisation) : undefined
    const set = scope === 'personal' ? ofUser : overrides.organisations?.get(organisation ?? '')
    return set !== undefined && isBlocking(set, category, windows)
  }
}

interface Lookup extends Pick<Policy, 'limitsOf' | 'limitsFor' | 'planOf' | 'periodDayOf'> {
  readonly settings: QuotaSettings
  readonly overrides: Overrides
  /** By plan, with `null` for callers without one. */
  readonly layers: ReadonlyMap<string | null, PlanLayers>
}

/** How the limits that `Lookup` finds came about. */
function createTraces({
  settings,
  overrides,
  layers,
  limitsOf,
  limitsFor,
  planOf,
  periodDayOf,
}: Lookup): Pick<Policy, 'trace' | 'sourceOf' | 'layerOf' | 'followsSettings'> {
  const { organisations = NO_OVERRIDES } = overrides

  /** What an administrator has set for the owner of a limit, who is the user or the organisation. */
  function setFor(scope: LimitScope, { user, organisation }: Payer): OrganisationOverride | undefined {
    if (scope === 'personal') return heldBy(overrides.get(user), organisation)
    const ofTheirs = organisation === null ? undefined : organisations.get(organisation)
    return scope === 'organisation' ? ofTheirs : undefined
  }

  /** The value that an override sets for a window; `undefined` if the plan's limit stays in force. */
  function ownIn(
    by: OrganisationOverride | undefined,
    ofPlan: PlanLayers,
    scope: LimitScope,
    category: string,
    window: string,
  ): number | undefined {
    const set = by?.limits.get(category)?.get(window)
    if (by === undefined || set === undefined) return undefined
    return setIn(
      by,
      set,
      ofPlan.limits(scope, category).find((limit) => limit.window.name === window),
    )
  }

  function trace(category: string, payer: Payer, origin: Origin = () => null): Trace {
    const { personal, organisation, global } = limitsFor(category, payer)
    const override = heldBy(overrides.get(payer.user), payer.organisation)
    const plan = planOf(payer)
    const ofPlan = layers.get(plan?.name ?? null) as PlanLayers
    const traced = (scope: LimitScope, limit: Limit): LimitTrace => {
      const by = setFor(scope, payer)
      const own = ownIn(by, ofPlan, scope, category, limit.window.name)
      const made =
        by !== undefined && own !== undefined
          ? setBy(scope, amountOf({ value: own, over: by.over?.get(category)?.get(limit.window.name) }), by)
          : chosen(ofPlan.explain(scope, category, limit.window, origin), plan, override)
      const times =
        by !== undefined && isMultiplying(by)
          ? timesFactor(made, scope, by, own ?? promisedIn(ofPlan.limits(scope, category), limit.window.name))
          : made
      return {
        ...limit,
        ...beginning(lessKept(times, limit), limit, { period: periodDayOf(payer, scope), scope, by, plan }),
      }
    }
    return {
      personal: personal.map((limit) => traced('personal', limit)),
      organisation: organisation?.map((limit) => traced('organisation', limit)) ?? null,
      global: global?.map((limit) => traced('global', limit)) ?? null,
      noGlobal: global === null ? whyNoGlobal(category, override) : null,
    }
  }

  function whyNoGlobal(category: string, override: Override | undefined): Trace['noGlobal'] {
    if (!settings.global.enabled) return 'switched off'
    return limitsOf(category).global === null ? 'no limit' : { bypass: reasonBeneath(override) ?? '' }
  }

  /** By limits, which belong to one category, and then by plan, because two plans may have equal limits. */
  const traces = new Map<Limits, Map<string | null, Trace>>()

  function sourceOf(category: string, payer: Payer, scope: ScopeName, window: string): string {
    const limits = limitsFor(category, payer)
    const plan = planOf(payer)?.name ?? null
    const byPlan = traces.get(limits) ?? new Map<string | null, Trace>()
    const traced = byPlan.get(plan) ?? trace(category, payer)
    traces.set(limits, byPlan.set(plan, traced))
    return traced[scope]?.find((limit) => limit.window.name === window)?.source ?? ''
  }

  function layerOf(scope: ScopeName, category: string, payer: Payer, window: string): Layer | 'override' | null {
    const by = setFor(scope, payer)
    const ofPlan = layers.get(planOf(payer)?.name ?? null) as PlanLayers
    if (by?.factor === 0 || ownIn(by, ofPlan, scope, category, window) !== undefined) return 'override'
    return ofPlan.layerOf(scope, category, window)
  }

  function followsSettings(category: string, payer: Payer, window: string): boolean {
    if (isMultiplying(setFor('personal', payer) ?? {})) return false
    const layer = layerOf('personal', category, payer, window)
    return layer === 'baselines' || layer === 'custom'
  }

  return { trace, sourceOf, layerOf, followsSettings }
}

/** The limits of one plan in one category, for callers with and without an organisation. */
interface Tier {
  readonly member: KnownOrNew
  readonly alone: KnownOrNew
}

/** Both are the same object if no reserve is kept. */
interface KnownOrNew {
  readonly known: Limits
  readonly newcomer: Limits
}

interface Tiers {
  readonly byPlan: ReadonlyMap<string, Tier>
  /** The tier of callers without a plan of their own. */
  readonly byDefault: Tier
}

/** The tier of the first of these plans that is configured. */
function tierOf(byPlan: Tiers['byPlan'], set: string | undefined, named: string | null): Tier | undefined {
  return (set === undefined ? undefined : byPlan.get(set)) ?? (named === null ? undefined : byPlan.get(named))
}

/** Plans with equal limits share one object. */
function createTiers(settings: QuotaSettings, layers: ReadonlyMap<string | null, PlanLayers>, category: string): Tiers {
  const { reserve, defaultPlan = null, books: kept } = settings
  const books = kept === undefined ? {} : { books: kept.window }
  const known = new Map<string, KnownOrNew>()
  const standing = (limits: Limits): KnownOrNew => {
    const text = JSON.stringify([limits.personal, limits.organisation])
    let found = known.get(text)
    if (found === undefined) {
      found = { known: limits, newcomer: reserve === undefined ? limits : newcomersLimits(limits, reserve.share) }
      known.set(text, found)
    }
    return found
  }
  const ofAll = settings.global.enabled ? (layers.get(null) as PlanLayers).limits('global', category) : []
  const global = ofAll.length === 0 ? null : ofAll
  const tier = (ofPlan: PlanLayers): Tier => {
    const personal = ofPlan.limits('personal', category)
    const organisation = ofPlan.limits('organisation', category)
    const alone = standing({ personal, organisation: null, global, ...books })
    // The days of an organisation are kept even if nothing limits it.
    const isCounted = organisation.length > 0 || kept !== undefined
    return { alone, member: isCounted ? standing({ personal, organisation, global, ...books }) : alone }
  }
  const all = new Map([...layers].map(([plan, ofPlan]) => [plan, tier(ofPlan)]))
  const byDefault = all.get(defaultPlan) ?? (all.get(null) as Tier)
  all.delete(null)
  return { byPlan: all as Map<string, Tier>, byDefault }
}

/** Adds who chose the plan that made a limit, if the caller's credential did not. */
function chosen(layers: Layers, plan: PlanInForce | null, override: Override | undefined): Layers {
  const [first = '', ...others] = layers.steps
  if (plan === null || !layers.source.startsWith('plan ')) return layers
  if (plan.from === 'default') return { ...layers, steps: [`${first}, by default`, ...others] }
  return plan.from === 'override'
    ? { ...layers, steps: [`${first}, by override${because(reasonBeneath(override))}`, ...others] }
    : layers
}

const OF_OVERRIDE = {
  personal: { source: 'override', step: 'override', value: 'override ' },
  organisation: {
    source: 'override of organisation',
    step: 'override of the organisation',
    value: 'override of the organisation: ',
  },
} as const

type Multiplying = Pick<Override, 'factor' | 'reason' | 'beneath'>

/** A factor of 1 leaves limits as they are, and callers with it share them with others. */
function isMultiplying({ factor = 1 }: Pick<Override, 'factor'>): boolean {
  return factor !== 1
}

/** Names the reason of an override once: behind its factor if it has one, unless the factor has a reason of its own. */
function setBy(scope: LimitScope, own: string, by: Multiplying): Layers {
  const { source, value } = OF_OVERRIDE[scope === 'organisation' ? scope : 'personal']
  return {
    source,
    steps: [`${value}${own}${!isMultiplying(by) || by.beneath !== undefined ? because(reasonBeneath(by)) : ''}`],
  }
}

/** 0 if the window has no limit. */
function promisedIn(limits: readonly Limit[], window: string): number {
  const found = limits.find((limit) => limit.window.name === window)
  return found === undefined ? 0 : promised(found)
}

/** Adds the factor to a limit's layers. @param limit before it is multiplied */
function timesFactor(made: Layers, scope: LimitScope, by: Multiplying, limit: number): Layers {
  const { factor = 1 } = by
  const { source, step } = OF_OVERRIDE[scope === 'organisation' ? scope : 'personal']
  return {
    // If limits and factor come from the same override, it is named once.
    source: made.source === '' || made.source === source ? source : `${made.source} x ${source}`,
    steps: [
      ...made.steps,
      `${step} x ${factor}${because(by.reason)}`,
      ...(isExact(limit, factor) ? [] : [`rounded to ${multiplied(limit, factor)}`]),
    ],
  }
}

interface Beginning {
  readonly period: PeriodDay | null
  readonly scope: LimitScope
  /** The override of the user or the organisation. */
  readonly by: Pick<Override, 'reason' | 'beneath'> | undefined
  readonly plan: PlanInForce | null
}

/** Adds the day with which the months of a limit begin and what has set the day, unless the window has set it. */
function beginning(layers: Layers, { window }: Limit, { period, scope, by, plan }: Beginning): Layers {
  if (period === null || !isMonth(window)) return layers
  const step = OF_OVERRIDE[scope === 'organisation' ? scope : 'personal'].step
  const who = {
    override: `${step}${because(reasonBeneath(by))}`,
    credential: 'the credential',
    plan: `plan ${plan?.name}`,
  }[period.from]
  return { ...layers, steps: [...layers.steps, `months begin with day ${period.day}: ${who}`] }
}

function lessKept(layers: Layers, limit: Limit): Layers {
  const { kept } = limit
  if (kept === undefined) return layers
  return {
    source: `${layers.source} - reserve`,
    steps: [...layers.steps, `reserve: ${kept} of ${promised(limit) + kept} are kept for known users`],
  }
}
