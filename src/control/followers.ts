import { sameJson } from '../lib/json.ts'
import { everyStep } from '../lib/steps.ts'
import { type LimitValue, NO_LIMIT, valueIn } from '../quota/limit-value.ts'
import {
  type Layer,
  type LimitTable,
  memberOf,
  type Payer,
  type Policy,
  payerOf,
  type QuotaSettings,
} from '../quota/policy.ts'
import type { UsageStore } from '../quota/quota-store.ts'
import type { Hiding, Unfollowed } from './unfollowed.ts'

/** Finds whom a limit affects when it is set at run time. A plan, an override or the mode may replace the limit for everybody. */

/** The part of a change that has no effect. */
export interface Reach {
  readonly unfollowed: readonly Unfollowed[]
  /** Whether nobody follows any of the limits that the change sets. */
  readonly isNobody: boolean
}

export interface KnownPayersOptions {
  readonly store: Pick<UsageStore, 'scanUsers'>
  /** The users with their organisations and plans, which decide their limits. @throws StoreError */
  readonly payersOf: (users: readonly string[]) => Promise<readonly Payer[]>
  /** Users with an override, who count even without usage. */
  readonly overridden: Iterable<string>
  /** Users to whom nothing is charged, who do not count. */
  readonly exempt: ReadonlySet<string>
  /** Ends the search between two steps, if nobody waits for it. */
  readonly signal?: AbortSignal
}

export interface FollowersOptions extends KnownPayersOptions {
  readonly now: QuotaSettings
  readonly next: QuotaSettings
  /** The limits that the settings make, with all overrides. */
  readonly policies: readonly [now: Policy, next: Policy]
}

/** How many known users have each plan; `null` is for users without one. @throws StoreError, or the reason of the signal */
export async function usersByPlan(
  options: KnownPayersOptions & { readonly policy: Policy },
): Promise<ReadonlyMap<string | null, number>> {
  const counts = new Map<string | null, number>()
  for await (const payers of knownPayers(options)) {
    for (const payer of payers) {
      const plan = options.policy.planOf(payer)?.name ?? null
      counts.set(plan, (counts.get(plan) ?? 0) + 1)
    }
  }
  return counts
}

/**
 * The limits of a change that nobody follows. If the store knows no users for a limit, future users count. The search ends as soon as
 * somebody follows each limit.
 * @throws StoreError, or the reason of the signal
 */
export async function reachOf(options: FollowersOptions): Promise<Reach> {
  const tallies = changedLimits(options.now, options.next).map((limit) => new Tally(limit, options))
  if (tallies.some((tally) => tally.isOpen)) {
    for await (const payers of knownPayers(options)) {
      for (const payer of payers) for (const tally of tallies) tally.count(payer)
      if (tallies.every(({ isOpen }) => !isOpen)) break
    }
  }
  const unfollowed = tallies.flatMap((tally) => tally.result())
  return { unfollowed, isNobody: unfollowed.length === tallies.length }
}

/** Each user once, with the event loop and the store free between the steps. */
async function* knownPayers({
  store,
  payersOf,
  overridden,
  exempt,
  signal,
}: KnownPayersOptions): AsyncGenerator<readonly Payer[]> {
  const seen = new Set(exempt)
  const unseen = (ids: Iterable<string>) => [...ids].filter((id) => !seen.has(id) && seen.add(id))
  for await (const { owners } of everyStep((cursor: string | null) => store.scanUsers(cursor), signal)) {
    yield payersOf(unseen(owners.map(({ id }) => id)))
  }
  const left = unseen(overridden)
  for (let i = 0; i < left.length; i += AT_ONCE) yield payersOf(left.slice(i, i + AT_ONCE))
}

/** For how many users one step looks plans up. */
const AT_ONCE = 200

type Scope = 'personal' | 'organisation' | 'global'

/** A value of the settings that a change sets. */
interface ChangedLimit {
  readonly layer: Layer
  readonly scope: Scope
  readonly category: string
  readonly window: string
}

function changedLimits(now: QuotaSettings, next: QuotaSettings): readonly ChangedLimit[] {
  const changed: ChangedLimit[] = []
  const compare = (layer: Layer, scopes: readonly Scope[]): void => {
    for (const scope of scopes) {
      for (const category of now.baselines.personal.keys()) {
        for (const { name: window } of now.windows) {
          const limit = { layer, scope, category, window }
          if (!sameJson(writtenIn(now, limit) ?? null, writtenIn(next, limit) ?? null)) changed.push(limit)
        }
      }
    }
  }
  compare('baselines', ['personal', 'global'])
  compare('custom', ['personal', 'global'])
  for (const plan of next.plans?.keys() ?? []) compare({ plan }, ['personal', 'organisation'])
  return changed
}

/** The value as written; `undefined` for none. */
function writtenIn(settings: QuotaSettings, { layer, scope, category, window }: ChangedLimit): LimitValue | undefined {
  const tables = typeof layer === 'object' ? settings.plans?.get(layer.plan) : settings[layer]
  if (tables == null) return undefined
  const { over = {}, ...limits } = tables
  const [own, beyond] = [limits, over].map((of) => (of as Readonly<Partial<Record<Scope, LimitTable>>>)[scope])
  return own === undefined ? undefined : valueIn({ limits: own, over: beyond }, category, window)
}

function isSame(a: Layer, b: Layer | 'override' | null): boolean {
  if (typeof a !== 'object') return a === b
  return typeof b === 'object' && b?.plan === a.plan
}

/** Counts who follows one value, and what overrides it for the others. */
class Tally {
  readonly #limit: ChangedLimit
  readonly #options: FollowersOptions
  /** Users for whom the value could count. */
  #audience = 0
  #overridden = 0
  readonly #plans = new Set<string>()
  /** For a plan: its users, even those without an organisation. */
  #users = 0
  #isFollowed = false
  /** Why nobody can ever follow the value; empty if somebody can. */
  readonly #never: readonly Hiding[]

  constructor(limit: ChangedLimit, options: FollowersOptions) {
    this.#limit = limit
    this.#options = options
    this.#never = this.#byForEver()
    this.#isFollowed = this.#never.length === 0 && limit.scope === 'global'
  }

  get isOpen(): boolean {
    return !this.#isFollowed && this.#never.length === 0
  }

  count(payer: Payer): void {
    if (!this.isOpen) return
    const { layer, scope } = this.#limit
    const plan = this.#options.policies[1].planOf(payer)?.name ?? null
    if (typeof layer === 'object') {
      if (plan !== layer.plan) return
      this.#users++
      if (scope === 'organisation' && payer.organisation === null) return
    }
    if (this.#follows(payer)) this.#isFollowed = true
    else if (this.#layerOf(payer) === 'override') this.#overridden++
    else if (plan !== null) this.#plans.add(plan)
    this.#audience++
  }

  result(): readonly Unfollowed[] {
    const by = this.#never.length > 0 ? this.#never : this.isOpen ? this.#by() : []
    if (by.length === 0) return []
    const { layer, scope, category, window } = this.#limit
    const place = typeof layer === 'object' ? ['plans', layer.plan] : [layer]
    return [{ path: [...place, scope, category, window].join('.'), by }]
  }

  /** Whether the value counts for a user before or after the change. A value that is given back affects those for whom it counted. */
  #follows(payer: Payer): boolean {
    const { layer, scope, category, window } = this.#limit
    return this.#options.policies.some((policy) => isSame(layer, policy.layerOf(scope, category, payer, window)))
  }

  #layerOf(payer: Payer): Layer | 'override' | null {
    const { scope, category, window } = this.#limit
    return this.#options.policies[1].layerOf(scope, category, payer, window)
  }

  #byForEver(): readonly Hiding[] {
    const { now, next } = this.#options
    const { layer, scope } = this.#limit
    if (layer === 'custom' && now.mode !== 'custom' && next.mode !== 'custom')
      return [{ kind: 'mode', mode: next.mode }]
    if (scope === 'global' && !now.global.enabled && !next.global.enabled) return [{ kind: 'switched_off' }]
    const anybody = payerOf(NOBODY)
    const isCustom = layer === 'baselines' && this.#layerOf(anybody) === 'custom' && !this.#follows(anybody)
    return isCustom ? [{ kind: 'custom', limit: this.#valueIn('custom') }] : []
  }

  /** Why none of the counted users follows the value; empty if future users may follow it. */
  #by(): readonly Hiding[] {
    const { layer } = this.#limit
    if (this.#audience === 0 && this.#mayCome()) return []
    if (typeof layer === 'object') return [this.#byOfPlan(layer.plan)]
    const { plans, defaultPlan } = this.#options.next
    const found = this.#audience === 0 ? [...(plans?.keys() ?? [])] : [...this.#plans]
    const shown = found.sort((a, b) => Number(b === defaultPlan) - Number(a === defaultPlan)).slice(0, SHOWN)
    const others = found.length - shown.length
    return [
      ...shown.map((plan): Hiding => ({ kind: 'plan', plan, limit: this.#valueIn({ plan }) })),
      ...(others > 0 ? [{ kind: 'plans', count: others } as const] : []),
      ...(this.#overridden > 0 ? [this.#overrides()] : []),
    ]
  }

  /** Whether a future user may follow the value. The limit of a plan counts only for future users who get this plan by default. */
  #mayCome(): boolean {
    const { layer, scope } = this.#limit
    const plans = typeof layer === 'object' ? [] : [...(this.#options.next.plans?.keys() ?? [])]
    return [null, ...plans].some((plan) =>
      this.#follows(scope === 'organisation' ? memberOf(NOBODY, { plan }) : { ...payerOf(NOBODY), plan }),
    )
  }

  #byOfPlan(plan: string): Hiding {
    if (this.#users === 0) return { kind: 'no_users', plan }
    return this.#audience === 0 ? { kind: 'no_organisation', plan } : this.#overrides()
  }

  #overrides(): Hiding {
    if (this.#limit.scope === 'organisation') return { kind: 'organisation_overrides' }
    return { kind: 'overrides', count: this.#overridden }
  }

  #valueIn(layer: Layer): LimitValue {
    return writtenIn(this.#options.next, { ...this.#limit, layer }) ?? NO_LIMIT
  }
}

/** No user and no organisation has this id. */
const NOBODY = ''
/** How many plans a sentence names. */
const SHOWN = 3
