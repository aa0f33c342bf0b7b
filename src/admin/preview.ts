import type { PreviewResponse } from '../contract/api.ts'
import { type Counters, inSteps, planIn } from '../control/in-steps.ts'
import { type Ahead, NOTHING_AHEAD } from '../quota/ahead.ts'
import type { Limits } from '../quota/charge.ts'
import { memberOf, type Payer, type Policy, payerOf } from '../quota/policy.ts'
import type { UsageSnapshot } from '../quota/quota-store.ts'
import {
  type Block,
  type CountersOf,
  endOfBlock,
  fullestOf,
  NO_COUNTERS,
  organisationBlock,
  organisationBlocks,
  refusesNewcomers,
  type StandingRules,
  standingOf,
} from '../quota/standing.ts'
import { effectiveLimits, globalStatus, overInForce } from '../quota/status.ts'
import { type Limit, lacksRoom, type Window } from '../quota/window.ts'
import type { Desk } from './desk.ts'
import { blockShown } from './standing.ts'
import { ANYBODY } from './used.ts'

/** The part of the desk through which a preview looks at users and organisations. */
export interface Books {
  readonly store: Pick<Desk['store'], 'readUsage' | 'scanUsers' | 'scanOrganisations'>
  readonly payersOf: Desk['payersOf']
  readonly membersOf: Desk['membersOf']
  readonly learn: Desk['learn']
}

export interface PreviewOptions {
  readonly desk: Books
  /** Each call makes a policy with the present or the future limits. Both have the same categories and windows. */
  readonly now: () => Policy
  readonly next: () => Policy
  /** By category, the lowest cost of a request that may be refused. A category is missing if nothing in it is refused. */
  readonly cheapest: ReadonlyMap<string, number>
  /** How the future limits will change at moments that are already known. Default not at all. */
  readonly ahead?: Ahead
  /** Users to whom nothing is charged. Default nobody. */
  readonly exempt?: ReadonlySet<string>
  /** Whether the whole gateway refuses nothing (shadow mode), at present and after the change. */
  readonly shadow: { readonly now: boolean; readonly next: boolean }
  /** The windows that may limit. An owner for whom none of them runs is looked at only if the owner has an override. */
  readonly windows: readonly Window[]
  /** Owners with an override, who are looked at even without usage. Default none. */
  readonly overridden?: { readonly users: Iterable<string>; readonly organisations: Iterable<string> }
  /** Ends the preview between two steps, if nobody waits for it. */
  readonly signal?: AbortSignal
}

/** The effects of a change, computed from the live counters. The response also has the fields that are left out here. */
export type Preview = Omit<PreviewResponse, 'movesNobody' | 'unfollowed' | 'ends' | 'warnings' | 'yesterday'>

type BlockedUser = Preview['blocked'][number]
type BlockedOrganisation = Preview['organisations']['blocked'][number]
type BlockedEverybody = Preview['everybody'][number]
type HeadRoom = Preview['windows'][string][number]

/** How many users or organisations were looked at and would be blocked, with the first 100 of the blocked ones. */
type Counted<T> = Pick<Preview, 'scanned' | 'blockedCount' | 'newlyBlockedCount' | 'freedCount'> & {
  readonly blocked: readonly T[]
}

const SHOWN = 100
const NOBODY: ReadonlySet<string> = new Set()
const NONE = { users: [], organisations: [] }

/**
 * Looks at every user and organisation in steps, with the event loop and the store free in between.
 * @throws StoreError, or the reason of the signal
 */
export async function preview(options: PreviewOptions): Promise<Preview> {
  const { desk, now, next } = options
  const snapshot = await desk.store.readUsage(ANYBODY, next().categories)
  const rules = rulesOf(options)
  const everybody = blockedEverybody(options, snapshot, rules, (policy, category) => policy.limitsOf(category))
  const isForAll = ({ category, window }: BlockedEverybody) =>
    everybody.some((each) => each.category === category && each.window === window)
  const ofNew = blockedEverybody(options, snapshot, rules, (policy, category) => policy.limitsOfNewcomers(category))
  const newUsers = ofNew.filter((block) => !isForAll(block))
  const windows = headRoom(snapshot, now(), next())
  const organisations = now().namesMatter || next().namesMatter ? await tightOrganisations(options) : NO_ORGANISATIONS
  const users = await countUsers(options, snapshot, organisations.tight)
  const ofOrganisations = countOrganisations(options, organisations, snapshot.at)
  const over = overInForce(next())
  const limits = { effective: effectiveLimits(next()), ...(over !== null && { over }) }
  return { ...users, organisations: ofOrganisations, everybody, newUsers, windows, ...limits }
}

/**
 * The rules before and after the change. A policy remembers each user with an override. So each step makes new policies, because freeing
 * 100,000 users at once would hold up the event loop.
 */
function rulesOf({ now, next, cheapest, exempt = NOBODY, shadow }: PreviewOptions): Policies {
  return {
    now: { policy: now(), cheapest, exempt, shadow: shadow.now },
    next: { policy: next(), cheapest, exempt, shadow: shadow.next },
  }
}

interface Policies {
  readonly now: StandingRules
  readonly next: StandingRules
}

/** The facts about organisations that are needed to judge their users. */
interface Organisations {
  readonly scanned: number
  /** Organisations without room under the limits of some plan, before or after the change. */
  readonly tight: ReadonlyMap<string, TightOrganisation>
}

interface TightOrganisation {
  readonly counters: Counters
  /** A payer with the plan and the day that were named last for the organisation. */
  readonly last: Payer
  /** A payer for each known plan of its users, because each plan may limit the organisation differently. */
  readonly plans: Map<string | null, Payer>
}

const NO_ORGANISATIONS: Organisations = { scanned: 0, tight: new Map() }

async function tightOrganisations(options: PreviewOptions): Promise<Organisations> {
  const { desk, overridden = NONE } = options
  const tight = new Map<string, TightOrganisation>()
  let scanned = 0
  const steps = inSteps(options, overridden.organisations, (cursor) => desk.store.scanOrganisations(cursor))
  for await (const { at, owners: each } of steps) {
    const owners = each.filter(({ id }) => !tight.has(id))
    scanned += owners.length
    const { now, next } = rulesOf(options)
    const lacks = (counters: Counters, member: Payer) =>
      [now, next].some((rules) => organisationBlock(rules, member, counters, at) !== null)
    const members = await desk.membersOf(owners.map(({ id }) => id))
    for (const [i, { id, counters }] of owners.entries()) {
      const last = members[i] ?? memberOf(id)
      const isTight = [null, ...next.policy.plans].some((plan) => lacks(counters, { ...last, plan }))
      if (isTight) tight.set(id, { counters, last, plans: new Map([[last.plan, last]]) })
    }
  }
  return { scanned, tight }
}

/** Looks at the plans of each organisation's users, because some may be refused while others are served. */
function countOrganisations(
  options: PreviewOptions,
  { scanned, tight }: Organisations,
  at: number,
): Counted<BlockedOrganisation> {
  const { now, next } = rulesOf(options)
  const count = createCount<BlockedOrganisation>()
  for (const [organisation, { counters, plans }] of tight) {
    const blocks = (rules: StandingRules) => organisationBlocks(rules, plans.values(), counters, at)
    const [before, after] = [blocks(now), blocks(next)]
    const worst = after.toSorted((a, b) => b.block.until - a.block.until)[0]
    const plan = worst && (next.policy.planOf(worst.member)?.name ?? null)
    const used = { personal: NO_COUNTERS, organisation: (name: string) => counters.get(name), global: NO_COUNTERS }
    const shown =
      worst &&
      (() => ({ organisation, plan: plan ?? null, ...shownBlock(options, worst.member, used, worst.block, at) }))
    count.add(organisation, before.length > 0, shown ?? null)
  }
  return { ...count.result(), scanned }
}

async function countUsers(
  options: PreviewOptions,
  { at: readAt, global }: UsageSnapshot,
  organisations: Organisations['tight'],
): Promise<Counted<BlockedUser> & Pick<Preview, 'movedCount'>> {
  const { desk, overridden = NONE } = options
  const { categories } = options.next()
  const ofAll = new Map(categories.map((category, i) => [category, global[i] ?? []]))
  const isKnownAsked = [options.now(), options.next()].some((policy) =>
    refusesNewcomers({ policy, cheapest: options.cheapest }, (category) => ofAll.get(category), readAt),
  )
  const count = createCount<BlockedUser>()
  let [scanned, movedCount] = [0, 0]
  const steps = inSteps(options, overridden.users, (cursor) => desk.store.scanUsers(cursor))
  for await (const { at, owners: each } of steps) {
    const owners = each.filter(({ id }) => !count.has(id))
    scanned += owners.length
    const ids = owners.map(({ id }) => id)
    if (isKnownAsked) await desk.learn(ids)
    const payers = await desk.payersOf(ids)
    const { now, next } = rulesOf(options)
    for (const [i, { id: user, counters }] of owners.entries()) {
      const payer = payers[i] ?? payerOf(user)
      const theirs = payer.organisation === null ? undefined : organisations.get(payer.organisation)
      if (theirs !== undefined) {
        const plan = planIn(next.policy, payer)
        theirs.plans.set(plan, { ...theirs.last, plan })
      }
      const used: CountersOf = {
        personal: (category) => counters.get(category),
        organisation: theirs === undefined ? NO_COUNTERS : (category) => theirs.counters.get(category),
        global: (category) => ofAll.get(category),
      }
      const before = refusalOf(now, payer, used, at)
      const after = refusalOf(next, payer, used, at)
      count.add(user, before !== null, after && (() => ({ user, ...shownBlock(options, payer, used, after, at) })))
      if (isMoved(options, now, next, payer)) movedCount++
    }
  }
  return { ...count.result(), scanned, movedCount }
}

/** The window that refuses a user; `null` for none. */
function refusalOf(rules: StandingRules, payer: Payer, used: CountersOf, at: number): Block | null {
  const { state, block } = standingOf(rules, payer, used, at)
  return state === 'refused' ? block : null
}

function isMoved({ shadow }: PreviewOptions, now: StandingRules, next: StandingRules, payer: Payer): boolean {
  if (next.exempt.has(payer.user)) return false
  if (shadow.now !== shadow.next) return true
  return next.policy.categories.some(
    (category) => !sameLimits(now.policy.limitsFor(category, payer), next.policy.limitsFor(category, payer)),
  )
}

function shownBlock(
  { cheapest, ahead = NOTHING_AHEAD }: Pick<PreviewOptions, 'cheapest' | 'ahead'>,
  payer: Payer,
  counters: CountersOf,
  block: Block,
  at: number,
): Omit<BlockedEverybody, 'blockedNow'> {
  return blockShown(block, endOfBlock({ cheapest, ahead }, payer, counters, block, at))
}

function createCount<T extends BlockedEverybody>() {
  const counts = { blockedCount: 0, newlyBlockedCount: 0, freedCount: 0 }
  const newly: T[] = []
  const still: T[] = []
  const counted = new Set<string>()

  /** @param block describes what blocks the owner after the change, and is called for the first owners only; `null` if nothing blocks the owner */
  function add(id: string, blockedNow: boolean, block: (() => Omit<T, 'blockedNow'>) | null): void {
    if (block !== null || blockedNow) counted.add(id)
    if (block === null) {
      if (blockedNow) counts.freedCount++
      return
    }
    counts.blockedCount++
    if (!blockedNow) counts.newlyBlockedCount++
    const shown = blockedNow ? still : newly
    if (shown.length < SHOWN) shown.push({ ...block(), blockedNow } as T)
  }

  const result = () => ({ ...counts, blocked: [...newly, ...still].slice(0, SHOWN) })
  return { add, has: (id: string) => counted.has(id), result }
}

/** The global windows that are full under the future settings. @param of the limits that count: those of everybody or of newcomers */
function blockedEverybody(
  options: PreviewOptions,
  { at, global }: UsageSnapshot,
  { now, next }: Policies,
  of: (policy: Policy, category: string) => Pick<ReturnType<Policy['limitsOf']>, 'global'>,
): BlockedEverybody[] {
  if (next.shadow) return []
  return next.policy.categories.flatMap((category, i) => {
    const cost = next.cheapest.get(category)
    if (cost === undefined) return []
    const before = now.shadow ? [] : (of(now.policy, category).global ?? [])
    return (of(next.policy, category).global ?? []).flatMap((limit) => {
      const found = fullestOf('global', category, [limit], global[i], { cost, at })
      if (found === null) return []
      const old = before.find(({ window }) => window.name === limit.window.name)
      const blockedNow = old !== undefined && lacksRoom({ used: found.used, limit: old.limit }, cost)
      const used = { personal: NO_COUNTERS, organisation: NO_COUNTERS, global: () => global[i] }
      return [{ ...shownBlock(options, payerOf(ANYBODY), used, found, at), blockedNow }]
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

function sameLimits(a: Limits, b: Limits): boolean {
  return same(a.personal, b.personal) && same(a.organisation, b.organisation) && same(a.global, b.global)
}

function same(a: readonly Limit[] | null, b: readonly Limit[] | null): boolean {
  if (a === null || b === null || a.length !== b.length) return a === b
  return a.every(
    ({ window, limit, over }, i) => limit === b[i]?.limit && over === b[i]?.over && window.name === b[i]?.window.name,
  )
}
