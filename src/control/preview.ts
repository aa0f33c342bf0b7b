import type { Limits } from '../quota/charge.ts'
import { type Counter, usageOf } from '../quota/counter.ts'
import { memberOf, type Payer, type Policy, payerOf } from '../quota/policy.ts'
import type { QuotaStore, UsageSnapshot, UsageStore, UserUsage } from '../quota/quota-store.ts'
import { globalStatus, type LimitsInForce, limitsInForce } from '../quota/status.ts'
import { type Limit, lacksRoom, resetAt } from '../quota/window.ts'

export interface PreviewOptions {
  readonly store: Pick<QuotaStore, 'readUsage'> & UsageStore
  /** Whose limits users have. Default those of users of whom only the id is known. @throws StoreError */
  readonly payersOf?: (users: readonly string[]) => Promise<readonly Payer[]>
  /** Whose limits organisations have. Default those under no plan. @throws StoreError */
  readonly membersOf?: (organisations: readonly string[]) => Promise<readonly Payer[]>
  /** Makes the limits in force, and as they would be: of the same categories and windows. */
  readonly now: () => Policy
  readonly next: () => Policy
  /** By category: the least that a request costs which may be refused; none if nothing is. */
  readonly cheapest: ReadonlyMap<string, number>
  /** Users to whom nothing is charged. Default nobody. */
  readonly exempt?: ReadonlySet<string>
  /** Whether the whole gateway refuses nothing (shadow mode), now and then. */
  readonly shadow: { readonly now: boolean; readonly next: boolean }
  /** Ends it between two steps, for whoever waits no more. */
  readonly signal?: AbortSignal
}

/** What would become of a change, from the live counters. */
export interface Preview extends Counted<BlockedUser> {
  /** By windows of their own. Nobody is looked at if neither a plan nor an override may limit organisations. */
  readonly organisations: Counted<BlockedOrganisation>
  /** The global windows without room for even the cheapest request: each blocks everybody who does not bypass them. */
  readonly everybody: readonly BlockedEverybody[]
  /** Those that keep out new users alone: a part of the window is kept for known ones (`quota.reserve`). */
  readonly newUsers: readonly BlockedEverybody[]
  readonly windows: Readonly<Record<string, readonly HeadRoom[]>>
  readonly effective: LimitsInForce
}

/** Users or organisations. */
export interface Counted<T> {
  /** Those looked at. */
  readonly scanned: number
  /** Those who would be blocked, and those of them who are not blocked now. */
  readonly blockedCount: number
  readonly newlyBlockedCount: number
  /** Those who are blocked now and would not be. */
  readonly freedCount: number
  /** The first 100 who would be blocked, those first who are not blocked now. */
  readonly blocked: readonly T[]
}

/** A user and the personal window that would keep him waiting longest. */
export interface BlockedUser extends BlockedEverybody {
  readonly user: string
}

/** An organisation and the window of it that would keep its users waiting longest. */
export interface BlockedOrganisation extends BlockedEverybody {
  readonly organisation: string
}

/** A window without room. */
export interface BlockedEverybody extends Block {
  readonly blockedNow: boolean
}

interface Block {
  readonly category: string
  readonly window: string
  readonly limit: number
  readonly used: number
  /** ISO 8601 UTC; `null` for a limit that no request fits into, which no waiting helps. */
  readonly resetAt: string | null
}

export interface HeadRoom {
  readonly window: string
  readonly used: number
  readonly limit: number
  /** As in `WindowStatus`. */
  readonly limitOfNewUsers?: number
  readonly remaining: number
  /** `null` where the global scope is switched off now. */
  readonly limitNow: number | null
  readonly remainingNow: number | null
}

const SHOWN = 100
const NOBODY: ReadonlySet<string> = new Set()
/** Any user will do for the counters of all. */
export const ANYBODY = '-'

/**
 * Looks at every user and organisation in steps, with the event loop and the store free between them.
 * @throws StoreError, or the reason of the signal
 */
export async function preview(options: PreviewOptions): Promise<Preview> {
  const { store, now, next } = options
  const snapshot = await store.readUsage(ANYBODY, next().categories)
  const rules = rulesOf(options)
  const everybody = blockedEverybody(snapshot, rules, (policy, category) => policy.limitsOf(category))
  const isForAll = ({ category, window }: Block) =>
    everybody.some((each) => each.category === category && each.window === window)
  const ofNew = blockedEverybody(snapshot, rules, (policy, category) => policy.limitsOfNewcomers(category))
  const newUsers = ofNew.filter((block) => !isForAll(block))
  const windows = headRoom(snapshot, now(), next())
  const users = await countUsers(options)
  const organisations = now().namesMatter || next().namesMatter ? await countOrganisations(options) : NOBODY_COUNTED
  return { ...users, organisations, everybody, newUsers, windows, effective: limitsInForce(next()) }
}

/** Policies remember each user with an override: with 100,000 of them the collection of that garbage took 20 ms a turn. */
function rulesOf({ now, next, cheapest, exempt = NOBODY, shadow }: PreviewOptions): Policies {
  return {
    now: { policy: now(), cheapest, exempt, shadow: shadow.now },
    next: { policy: next(), cheapest, exempt, shadow: shadow.next },
  }
}

async function countUsers(options: PreviewOptions): Promise<Counted<BlockedUser>> {
  const { store, payersOf = onlyIds, signal } = options
  const count = createCount((user: string, blocked): BlockedUser => ({ user, ...blocked }))
  let cursor: string | null = null
  do {
    signal?.throwIfAborted()
    const step = await store.scanUsers(cursor)
    const { now, next } = rulesOf(options)
    const payers = await payersOf(step.users.map(({ user }) => user))
    step.users.forEach((usage, i) => {
      const payer = payers[i] ?? payerOf(usage.user)
      const block = (rules: Rules) => userBlock(usage, payer, rules, step.at)
      count.add(usage.user, () => [block(now), block(next)])
    })
    cursor = step.next
    await breath()
  } while (cursor !== null)
  return count.result()
}

async function countOrganisations(options: PreviewOptions): Promise<Counted<BlockedOrganisation>> {
  const { store, membersOf = withoutPlans, signal } = options
  const count = createCount((organisation: string, blocked): BlockedOrganisation => ({ organisation, ...blocked }))
  let cursor: string | null = null
  do {
    signal?.throwIfAborted()
    const step = await store.scanOrganisations(cursor)
    const { now, next } = rulesOf(options)
    const members = await membersOf(step.organisations.map(({ organisation }) => organisation))
    step.organisations.forEach(({ organisation, counters }, i) => {
      const payer = members[i] ?? memberOf(organisation)
      const limits = (rules: Rules) => (category: string) => rules.policy.limitsFor(category, payer).organisation ?? []
      const block = (rules: Rules) => (rules.shadow ? null : longestBlock(counters, limits(rules), rules, step.at))
      count.add(organisation, () => [block(now), block(next)])
    })
    cursor = step.next
    await breath()
  } while (cursor !== null)
  return count.result()
}

async function onlyIds(users: readonly string[]): Promise<readonly Payer[]> {
  return users.map(payerOf)
}

async function withoutPlans(organisations: readonly string[]): Promise<readonly Payer[]> {
  return organisations.map((organisation) => memberOf(organisation))
}

function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

interface Rules {
  readonly policy: Policy
  readonly cheapest: PreviewOptions['cheapest']
  readonly exempt: ReadonlySet<string>
  readonly shadow: boolean
}

interface Policies {
  readonly now: Rules
  readonly next: Rules
}

const NOBODY_COUNTED: Counted<never> = {
  scanned: 0,
  blockedCount: 0,
  newlyBlockedCount: 0,
  freedCount: 0,
  blocked: [],
}

function createCount<T>(shownOf: (id: string, blocked: BlockedEverybody) => T) {
  const counts = { scanned: 0, blockedCount: 0, newlyBlockedCount: 0, freedCount: 0 }
  const newly: T[] = []
  const still: T[] = []
  /** A scan may come by one twice. */
  const counted = new Set<string>()

  /** @param blocksOf what blocks this one now, and under the change */
  function add(id: string, blocksOf: () => readonly [Block | null, Block | null]): void {
    if (counted.has(id)) return
    counts.scanned++
    const [now, next] = blocksOf()
    if (next === null && now === null) return
    counted.add(id)
    if (next === null) counts.freedCount++
    else addBlocked(id, { ...next, blockedNow: now !== null })
  }

  function addBlocked(id: string, blocked: BlockedEverybody): void {
    counts.blockedCount++
    if (!blocked.blockedNow) counts.newlyBlockedCount++
    const shown = blocked.blockedNow ? still : newly
    if (shown.length < SHOWN) shown.push(shownOf(id, blocked))
  }

  return { add, result: () => ({ ...counts, blocked: [...newly, ...still].slice(0, SHOWN) }) }
}

/** `null` if no personal window blocks the user, or shadow mode refuses nothing. */
function userBlock({ user, counters }: UserUsage, payer: Payer, rules: Rules, at: number): Block | null {
  const { policy, exempt, shadow } = rules
  if (shadow || exempt.has(user) || policy.isShadowed(user)) return null
  return longestBlock(counters, (category) => policy.limitsFor(category, payer).personal, rules, at)
}

/** The window without room for the cheapest request that keeps whoever it limits waiting longest; `null` if none is. */
function longestBlock(
  counters: UserUsage['counters'],
  limitsOf: (category: string) => readonly Limit[],
  { policy, cheapest }: Rules,
  at: number,
): Block | null {
  let longest = Number.NEGATIVE_INFINITY
  let block: Block | null = null
  for (const category of policy.categories) {
    const cost = cheapest.get(category)
    if (cost === undefined) continue
    for (const limit of limitsOf(category)) {
      const found = blockIn(category, limit, cost, counters.get(category), at)
      if (found === null || found.until <= longest) continue
      longest = found.until
      block = found.block
    }
  }
  return block
}

function blockIn(
  category: string,
  { window, limit }: Limit,
  cost: number,
  counter: Counter | undefined,
  at: number,
): { readonly until: number; readonly block: Block } | null {
  const usage = usageOf(counter ?? [], window, at)
  const { used } = usage
  if (!lacksRoom({ used, limit }, cost)) return null
  const until = limit < cost ? Number.POSITIVE_INFINITY : resetAt(usage, window)
  const end = limit < cost ? null : new Date(until).toISOString()
  return { until, block: { category, window: window.name, limit, used, resetAt: end } }
}

/** Of the global windows, as the settings have them. @param of whose limits count */
function blockedEverybody(
  { at, global }: UsageSnapshot,
  { now, next }: Policies,
  of: (policy: Policy, category: string) => Pick<Limits, 'global'>,
): BlockedEverybody[] {
  if (next.shadow) return []
  return next.policy.categories.flatMap((category, i) => {
    const cost = next.cheapest.get(category)
    if (cost === undefined) return []
    const before = now.shadow ? [] : (of(now.policy, category).global ?? [])
    return (of(next.policy, category).global ?? []).flatMap((limit) => {
      const found = blockIn(category, limit, cost, global[i], at)
      if (found === null) return []
      const old = before.find(({ window }) => window.name === limit.window.name)
      const blockedNow = old !== undefined && blockIn(category, old, cost, global[i], at) !== null
      return [{ ...found.block, blockedNow }]
    })
  })
}

function headRoom(snapshot: UsageSnapshot, now: Policy, next: Policy): Record<string, HeadRoom[]> {
  const before = globalStatus(now, snapshot)
  const after = globalStatus(next, snapshot)
  return Object.fromEntries(
    Object.entries(after).map(([category, windows]) => [
      category,
      windows.map(({ scope: _, startedAt: __, resetAt: ___, ...room }) => {
        const old = before[category]?.find((entry) => entry.window === room.window)
        return { ...room, limitNow: old?.limit ?? null, remainingNow: old?.remaining ?? null }
      }),
    ]),
  )
}
