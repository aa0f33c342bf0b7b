import type { Charge, Decision, Limits, Meter } from '../charge.ts'
import { type Limit, NOT_RUNNING, resetAt, type Usage } from '../window.ts'

/** Remembers what was refused a moment ago, so that a client that goes on asking costs the store nothing. */
export interface RecentRefusals {
  /**
   * The refusal again, with the present time. It is the same object until some window has a whole second less left.
   * `null` if the store has to be asked. A window that has not started may refuse a cost above its limit. Its end
   * counts from the moment that the refusal names, which may be up to a second ago.
   */
  recall(charge: Charge): Decision | null
  /**
   * @param askedAt when the store was asked, on our clock, because its reply may have taken long
   * @returns the earlier refusal, if it says the same to the second; else this one
   */
  note(charge: Charge, decision: Decision, askedAt: number): Decision
  /** Notes that a charge was accepted, so that an earlier refusal of its user may now last longer. */
  forget(charge: Charge): void
  /** Notes that something was given back, so that any refusal may be wrong now. */
  clear(): void
}

interface Entry {
  readonly limits: Limits
  readonly organisation: string | null
  readonly cost: number
  readonly others: readonly Meter[] | undefined
  /** When the entry ends, in milliseconds on our clock. `saidAt` and `saidUntil` are on our clock too. */
  readonly until: number
  /** When the running windows end, in the store's time. */
  readonly ends: readonly number[]
  said: Decision
  saidAt: number
  saidUntil: number
}

/** The most pairs of user and category. For a charge of several meters the first one counts. */
const MAX = 10_000

/**
 * Usage of a window only grows, except by refunds and resets. So a refusal stays true while its windows run and the
 * limits are the same objects. What other users or processes change is noticed at most `keepMs` later. This never
 * admits anything.
 * @param keepMs how long a refusal is repeated, in milliseconds; 0 for never
 * @param now monotonic milliseconds
 */
export function createRecentRefusals(keepMs: number, now: () => number): RecentRefusals {
  const byCategory = new Map<string, Map<string, Entry>>()
  let size = 0

  function recall({ user, organisation, category, cost, limits, others }: Charge): Decision | null {
    const entry = size === 0 ? undefined : byCategory.get(category)?.get(user)
    if (entry === undefined || cost < entry.cost || limits !== entry.limits) return null
    if (organisation !== entry.organisation) return null
    if (others !== entry.others && !isAsMuch(others, entry.others)) return null
    const time = now()
    if (time >= entry.until) return null
    if (time >= entry.saidUntil) sayAnew(entry, time)
    return entry.said
  }

  function note(charge: Charge, decision: Decision, askedAt: number): Decision {
    if (keepMs === 0) return decision
    const { user, organisation, category, cost, limits, others } = charge
    if (size >= MAX) clear()
    const ends = endsOf(limits, decision)
    others?.forEach((meter, i) => {
      ends.push(...endsOf(meter.limits, decision.others?.[i] as Decision))
    })
    // The store reports whole milliseconds, so the true time may be nearly one later.
    const until = askedAt + Math.min(keepMs, Math.min(...ends) - decision.at - 1)
    const users = usersOf(category)
    const before = users.get(user)
    if (before === undefined) size++
    const said = before !== undefined && saysTheSame(before, charge, decision) ? before.said : decision
    // By the store's time: an earlier refusal has less left of its second.
    const saidAt = now() - (decision.at - said.at)
    const saidUntil = saidAt + unchangedFor(ends, said.at)
    users.set(user, { limits, organisation, cost, others, until, ends, said, saidAt, saidUntil })
    return said
  }

  function forget({ user, category, others }: Charge): void {
    if (byCategory.get(category)?.delete(user)) size--
    if (others !== undefined) for (const meter of others) forget(meter)
  }

  function usersOf(category: string): Map<string, Entry> {
    let users = byCategory.get(category)
    if (users === undefined) {
      users = new Map()
      byCategory.set(category, users)
    }
    return users
  }

  function clear(): void {
    byCategory.clear()
    size = 0
  }

  return { recall, note, forget, clear }
}

/** Whether an earlier refusal fits this charge: its usage is the same, and each window has as many seconds left. */
function saysTheSame({ limits, cost, others, ends, said }: Entry, charge: Charge, decision: Decision): boolean {
  if (charge.limits !== limits || charge.cost !== cost || others !== undefined || charge.others !== undefined)
    return false
  const passed = decision.at - said.at
  if (passed < 0 || passed >= unchangedFor(ends, said.at) || decision.limits !== said.limits) return false
  return (
    areSame(decision.personal, said.personal) &&
    areSame(decision.organisation, said.organisation) &&
    areSame(decision.global, said.global)
  )
}

function areSame(usages: readonly Usage[] | null, others: readonly Usage[] | null): boolean {
  if (usages === null || others === null) return usages === others
  return usages.length === others.length && usages.every((usage, i) => isSame(usage, others[i] as Usage))
}

function isSame(usage: Usage, other: Usage): boolean {
  return usage.startedAt === other.startedAt && usage.used === other.used
}

/** Whether further meters ask for as much as others, or for more. */
function isAsMuch(meters: readonly Meter[] = [], others: readonly Meter[] = []): boolean {
  return meters.length === others.length && meters.every((meter, i) => isOneAsMuch(meter, others[i] as Meter))
}

function isOneAsMuch({ organisation, category, limits, cost }: Meter, other: Meter): boolean {
  const isSame = category === other.category && limits === other.limits && organisation === other.organisation
  return isSame && cost >= other.cost
}

function sayAnew(entry: Entry, time: number): void {
  const passed = Math.floor(time - entry.saidAt)
  const at = entry.said.at + passed
  const said = atTime(entry.said, at)
  const { others } = said
  entry.said = others === undefined ? said : { ...said, others: others.map((each) => atTime(each, at)) }
  entry.saidAt += passed
  entry.saidUntil = entry.saidAt + unchangedFor(entry.ends, at)
}

/** The memo was made from the decision with the earlier time, so it is not copied. */
function atTime(decision: Decision, at: number): Decision {
  return { ...decision, at, memo: undefined }
}

/**
 * Milliseconds until one of the windows has a whole second less left, rounded up. A window that has not started ends one length from
 * now, so a refusal that names this end is a second old at most.
 */
function unchangedFor(ends: readonly number[], at: number): number {
  let ms = 1000
  for (let i = 0; i < ends.length; i++) ms = Math.min(ms, (((ends[i] as number) - at - 1) % 1000) + 1)
  return ms
}

/** When the running windows end. At the first of these moments the numbers change. */
function endsOf({ personal, organisation, global }: Limits, decision: Decision): number[] {
  const ends: number[] = []
  addEnds(ends, personal, decision.personal)
  addEnds(ends, organisation ?? [], decision.organisation ?? [])
  addEnds(ends, global ?? [], decision.global ?? [])
  return ends
}

function addEnds(ends: number[], limits: readonly Limit[], usages: readonly Usage[]): void {
  for (let i = 0; i < limits.length; i++) {
    const usage = usages[i] ?? NOT_RUNNING
    if (usage.startedAt !== 0) ends.push(resetAt(usage, (limits[i] as Limit).window))
  }
}
