import { usageOf } from '../quota/counter.ts'
import { type Payer, type Policy, payerOf } from '../quota/policy.ts'
import type { QuotaStore, UsageStore, UserUsage } from '../quota/quota-store.ts'
import { globalStatus, type LimitsInForce, limitsInForce } from '../quota/status.ts'
import { lacksRoom, resetAt } from '../quota/window.ts'

export interface PreviewOptions {
  readonly store: Pick<QuotaStore, 'readUsage'> & UsageStore
  /** Whose limits users have. Default those of users of whom only the id is known. @throws StoreError */
  readonly payersOf?: (users: readonly string[]) => Promise<readonly Payer[]>
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
export interface Preview {
  /** Users looked at. */
  readonly scanned: number
  /** Users who would be blocked, and those of them who are not blocked now. */
  readonly blockedCount: number
  readonly newlyBlockedCount: number
  /** Users who are blocked now and would not be. */
  readonly freedCount: number
  /** The first 100 who would be blocked, those first who are not blocked now. */
  readonly blocked: readonly BlockedUser[]
  readonly windows: Readonly<Record<string, readonly HeadRoom[]>>
  readonly effective: LimitsInForce
}

/** A user and the window that would keep him waiting longest. */
export interface BlockedUser extends Block {
  readonly user: string
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
 * Looks at every user in steps, with the event loop and the store free between them.
 * @throws StoreError, or the reason of the signal
 */
export async function preview({
  store,
  payersOf = onlyIds,
  now,
  next,
  cheapest,
  exempt = NOBODY,
  shadow,
  signal,
}: PreviewOptions): Promise<Preview> {
  const windows = await headRoom(store, now(), next())
  const count = createCount()
  let cursor: string | null = null
  do {
    signal?.throwIfAborted()
    const step = await store.scanUsers(cursor)
    // Policies remember each user with an override: with 100,000 of them the collection of that garbage took 20 ms a turn.
    const policies = {
      now: { policy: now(), cheapest, exempt, shadow: shadow.now },
      next: { policy: next(), cheapest, exempt, shadow: shadow.next },
    }
    const payers = await payersOf(step.users.map(({ user }) => user))
    step.users.forEach((usage, i) => {
      count.add({ ...usage, payer: payers[i] ?? payerOf(usage.user) }, policies, step.at)
    })
    cursor = step.next
    await breath()
  } while (cursor !== null)
  return { ...count.result(), windows, effective: limitsInForce(next()) }
}

async function onlyIds(users: readonly string[]): Promise<readonly Payer[]> {
  return users.map(payerOf)
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

interface PayerUsage extends UserUsage {
  readonly payer: Payer
}

function createCount() {
  const counts = { scanned: 0, blockedCount: 0, newlyBlockedCount: 0, freedCount: 0 }
  const newly: BlockedUser[] = []
  const still: BlockedUser[] = []
  /** A scan may come by a user twice. */
  const counted = new Set<string>()

  function add(usage: PayerUsage, { now, next }: Policies, at: number): void {
    if (counted.has(usage.user)) return
    counts.scanned++
    const blockedNow = blockOf(usage, now, at) !== null
    const block = blockOf(usage, next, at)
    if (block === null && !blockedNow) return
    counted.add(usage.user)
    if (block === null) counts.freedCount++
    else addBlocked({ user: usage.user, ...block, blockedNow })
  }

  function addBlocked(blocked: BlockedUser): void {
    counts.blockedCount++
    if (!blocked.blockedNow) counts.newlyBlockedCount++
    const shown = blocked.blockedNow ? still : newly
    if (shown.length < SHOWN) shown.push(blocked)
  }

  return { add, result: () => ({ ...counts, blocked: [...newly, ...still].slice(0, SHOWN) }) }
}

/**
 * The personal window without room for the cheapest request that keeps the user waiting longest; `null` if none is, or
 * shadow mode refuses nothing.
 */
function blockOf(
  { user, payer, counters }: PayerUsage,
  { policy, cheapest, exempt, shadow }: Rules,
  at: number,
): Block | null {
  if (shadow || exempt.has(user) || policy.isShadowed(user)) return null
  let longest = Number.NEGATIVE_INFINITY
  let block: Block | null = null
  for (const category of policy.categories) {
    const cost = cheapest.get(category)
    if (cost === undefined) continue
    for (const { window, limit } of policy.limitsFor(category, payer).personal) {
      const usage = usageOf(counters.get(category) ?? [], window, at)
      if (!lacksRoom({ used: usage.used, limit }, cost)) continue
      const until = limit < cost ? Number.POSITIVE_INFINITY : resetAt(usage, window)
      if (until <= longest) continue
      longest = until
      block = {
        category,
        window: window.name,
        limit,
        used: usage.used,
        resetAt: limit < cost ? null : new Date(until).toISOString(),
      }
    }
  }
  return block
}

async function headRoom(
  store: Pick<QuotaStore, 'readUsage'>,
  now: Policy,
  next: Policy,
): Promise<Record<string, HeadRoom[]>> {
  const snapshot = await store.readUsage(ANYBODY, next.categories)
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
