import { type Ahead, freeFrom, hasRoom } from './ahead.ts'
import type { Limits } from './charge.ts'
import { grantsIn, SCOPE_NAMES, type ScopeName } from './charged-scopes.ts'
import { type Counter, usageOf } from './counter.ts'
import { accountOf, type PaidByGrant, pays } from './grant.ts'
import type { Payer } from './payer.ts'
import type { Policy } from './policy.ts'
import type { UsageSnapshot } from './quota-store.ts'
import { endOf, type Limit, lacksRoom, NOT_RUNNING } from './window.ts'

/**
 * Whether and why the quota refuses somebody now. Lists, filters, previews, the page of a user and `explain` all ask here, so
 * that "blocked" has one meaning: the cheapest request of some category would get a 429.
 */
export interface Standing {
  /**
   * `room`: nothing is refused. `granted`: nothing is refused, because grants pay where a window has no room. `refused`: `block`
   * refuses. `shadow`: `block` would refuse, but is only counted. `exempt`: nothing is charged, whatever the windows hold.
   */
  readonly state: 'room' | 'granted' | 'refused' | 'shadow' | 'exempt'
  /** The window that refuses or would refuse; `null` for none. It is not looked for if nothing is charged. */
  readonly block: Block | null
  /** Set for `granted` only. */
  readonly granted?: Granted
}

/** A window without room, and the tokens left in the grants that pay in its place. */
interface Granted {
  readonly window: Block
  readonly left: number
}

/** A window without room for the cheapest request of its category. */
export interface Block extends Limit {
  readonly scope: ScopeName
  readonly category: string
  readonly used: number
  /** When the run ends, in milliseconds since the epoch; infinite if the limit is below the cost. The limit may end before. */
  readonly until: number
}

/** The rules by which a request is refused or not. */
export interface StandingRules {
  readonly policy: Policy
  /** By category, the lowest cost of a request that may be refused. A category is missing if nothing in it is refused. */
  readonly cheapest: ReadonlyMap<string, number>
  /** Users to whom nothing is charged. */
  readonly exempt: ReadonlySet<string>
  /** Whether nothing is refused at all, for example by `quota.shadow`. */
  readonly shadow: boolean
}

/** The counters of a caller in each scope, by category or by the account of a grant. */
export type CountersOf = Readonly<Record<ScopeName, (category: string) => Counter | undefined>>

/** @param categories that were read, in their order, which is `countedOf` of the policy */
export function countersIn(categories: readonly string[], snapshot: UsageSnapshot): CountersOf {
  const of = (counters: readonly Counter[] | null) => (category: string) => counters?.[categories.indexOf(category)]
  return { personal: of(snapshot.personal), organisation: of(snapshot.organisation), global: of(snapshot.global) }
}

export const NO_COUNTERS = (): undefined => undefined

/** @param at the store's time, in milliseconds since the epoch */
export function standingOf(rules: StandingRules, payer: Payer, counters: CountersOf, at: number): Standing {
  if (rules.exempt.has(payer.user)) return EXEMPT
  const { block, granted } = fullWindows(rules, payer, counters, at, SCOPE_NAMES)
  if (block === null) return granted === null ? ROOM : { state: 'granted', block, granted }
  return { state: rules.shadow || rules.policy.isShadowed(payer.user) ? 'shadow' : 'refused', block }
}

const EXEMPT: Standing = { state: 'exempt', block: null }
const ROOM: Standing = { state: 'room', block: null }

/**
 * When a block ends, in milliseconds since the epoch: with its window, or with a limit that ends earlier, as the 429 says it. Infinite
 * for a block that never ends.
 */
export function endOfBlock(
  { cheapest, ahead }: Pick<StandingRules, 'cheapest'> & { readonly ahead: Ahead },
  payer: Payer,
  counters: CountersOf,
  { category, until }: Block,
  at: number,
): number {
  const asked = { category, cost: cheapest.get(category) ?? 1 }
  const free = freeFrom(ahead, payer, at, until, (policy, moment) =>
    hasRoom(policy, payer, asked, moment, (scope, counted, window) =>
      usageOf(counters[scope](counted) ?? [], window, moment),
    ),
  )
  return free ?? until
}

/** The window that refuses some category's cheapest request longest; `null` for none. @param scopes to look at. Default all */
export function blockOf(
  rules: Pick<StandingRules, 'policy' | 'cheapest'>,
  payer: Payer,
  counters: CountersOf,
  at: number,
  scopes: readonly ScopeName[] = SCOPE_NAMES,
): Block | null {
  return fullWindows(rules, payer, counters, at, scopes).block
}

/** Finds what `blockOf` returns, and also the first window that would refuse if no grant paid; `null` for none. */
function fullWindows(
  { policy, cheapest }: Pick<StandingRules, 'policy' | 'cheapest'>,
  payer: Payer,
  counters: CountersOf,
  at: number,
  scopes: readonly ScopeName[],
): { readonly block: Block | null; readonly granted: Granted | null } {
  let block: Block | null = null
  let granted: Granted | null = null
  for (const category of policy.categories) {
    const cost = cheapest.get(category)
    if (cost === undefined) continue
    const limits = policy.limitsFor(category, payer)
    for (const scope of scopes) {
      const found = fullestOf(scope, category, limits[scope], counters[scope](category), { cost, at })
      if (found === null || (block !== null && found.until <= block.until)) continue
      const paying = payersIn(limits, scope, counters, { cost, at })
      if (paying.length === 0) block = found
      else granted ??= { window: found, left: paying.reduce((sum, { grant, used }) => sum + grant.limit - used, 0) }
    }
  }
  return { block, granted }
}

/** The grant that pays a cost in place of a scope's windows, in its present state; `null` for none. */
export function payerIn(
  limits: Pick<Limits, 'grants'>,
  scope: ScopeName,
  counters: CountersOf,
  asked: { readonly cost: number; readonly at: number },
): PaidByGrant | null {
  return payersIn(limits, scope, counters, asked)[0] ?? null
}

function payersIn(
  { grants }: Pick<Limits, 'grants'>,
  scope: ScopeName,
  counters: CountersOf,
  { cost, at }: { readonly cost: number; readonly at: number },
): readonly PaidByGrant[] {
  return grantsIn(grants, scope).flatMap((grant) => {
    const { startedAt, used } = usageOf(counters[scope](accountOf(grant.id)) ?? [], grant.window, at)
    return pays(grant, used, cost, at) ? [{ grant, startedAt, used }] : []
  })
}

/** The window of an organisation that refuses a member; `null` for none. @param counters of the organisation, by category */
export function organisationBlock(
  rules: Pick<StandingRules, 'policy' | 'cheapest'>,
  member: Payer,
  counters: ReadonlyMap<string, Counter>,
  at: number,
): Block | null {
  const organisation = (category: string) => counters.get(category)
  return blockOf(rules, member, { personal: NO_COUNTERS, organisation, global: NO_COUNTERS }, at, ['organisation'])
}

/**
 * Whether an organisation's windows refuse its members. The organisation counts as blocked if any member is refused: members of
 * one plan may be refused while those of another plan are served.
 * @param members one for each plan that its members have
 */
export function organisationBlocks(
  rules: Pick<StandingRules, 'policy' | 'cheapest' | 'shadow'>,
  members: Iterable<Payer>,
  counters: ReadonlyMap<string, Counter>,
  at: number,
): readonly { readonly member: Payer; readonly block: Block }[] {
  if (rules.shadow) return []
  return [...members].flatMap((member) => {
    const block = organisationBlock(rules, member, counters, at)
    return block === null ? [] : [{ member, block }]
  })
}

/** Whether some global window refuses users who are not known. Only then it matters who is known. */
export function refusesNewcomers(
  { policy, cheapest }: Pick<StandingRules, 'policy' | 'cheapest'>,
  global: CountersOf['global'],
  at: number,
): boolean {
  return policy.categories.some((category) => {
    const cost = cheapest.get(category)
    const { global: limits } = policy.limitsOfNewcomers(category)
    return cost !== undefined && fullestOf('global', category, limits, global(category), { cost, at }) !== null
  })
}

/**
 * Among the windows of one scope without room for a request, the one with the longest wait, which a 429 names; `null` if all have
 * room.
 */
export function fullestOf(
  scope: ScopeName,
  category: string,
  limits: readonly Limit[] | null,
  counter: Counter | undefined,
  { cost, at }: { readonly cost: number; readonly at: number },
): Block | null {
  let worst: Block | null = null
  for (const limit of limits ?? []) {
    const usage = counter === undefined ? NOT_RUNNING : usageOf(counter, limit.window, at)
    if (!lacksRoom({ used: usage.used, limit: limit.limit }, cost)) continue
    const end = endOf(limit.window, usage === NOT_RUNNING ? at : usage.startedAt)
    const until = limit.limit < cost ? Number.POSITIVE_INFINITY : end
    if (worst === null || until >= worst.until) worst = { ...limit, scope, category, used: usage.used, until }
  }
  return worst
}
