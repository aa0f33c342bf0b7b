import { setTimeout as sleep } from 'node:timers/promises'
import { type Charging, correct } from '../gateway/settlement.ts'
import type { Charge, Decision, Limits } from '../quota/charge.ts'
import type { PaidByGrant, PaidByGrants } from '../quota/grant.ts'
import type { ChargedRun, Once, Receipt } from '../quota/once.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import type { Limit, Usage } from '../quota/window.ts'
import { type ChargedMeter, type ChargeReceipt, GOOD_MS, type PaidWords, settledKey } from './receipts.ts'

/** How long a service waits for the store, in milliseconds. A slower settlement is still made, and only once. */
const WAIT_MS = 5000

/**
 * Settles a charge by its receipt, once. A second settlement of the same id changes nothing.
 * @param costs by category. The charge of a category that is not named stays
 * @returns by category the tokens that are taken in addition now, or below 0 given back; `null` if the store has not replied in time
 */
export async function settleLater(
  charging: Charging,
  policy: Policy,
  { id, receipt }: { readonly id: string; readonly receipt: ChargeReceipt },
  costs: Readonly<Record<string, number>>,
): Promise<Record<string, number> | null> {
  const made = receipt.meters.map(async (meter, i) => {
    const { charge, decision, meter: of } = chargedAgain(receipt, i, id, policy)
    const paid = {
      ...({ type: 'settled', kind: 'charged', tokens: 0, refusedBy: null } as const),
      ...{ charge, decision, caller: receipt.payer, isVerified: receipt.isVerified, route: receipt.route },
      requestId: receipt.requestId,
      plan: policy.planOf(receipt.payer),
    }
    const back = await correct(charging, paid, { tokens: costs[meter.category] ?? meter.cost, source: 'service' }, of)
    return [meter.category, 0 - (back ?? 0)] as const
  })
  const late = sleep(WAIT_MS, null, { ref: false })
  const all = await Promise.race([Promise.all(made), late])
  return all === null ? null : Object.fromEntries(all)
}

/**
 * The charge as the store knows it. If the question had a key, that is the whole charge with this key. If it had none, that is the one meter
 * alone, with a key that is made for its settlement.
 */
function chargedAgain({ at, payer, key, meters }: ChargeReceipt, i: number, id: string, policy: Policy): Again {
  const [first, ...others] = meters.map((meter) => meterOf(payer, meter, policy))
  if (key === null) {
    const { charge, decision } = (i === 0 ? first : others[i - 1]) as Meters
    const once: Once = { key: settledKey(id, i), body: '-', forMs: GOOD_MS, replays: 1, keepsReport: true }
    return {
      charge: { ...charge, once },
      decision: { ...decision, at, once: { kind: 'charged', since: at } },
      meter: 0,
    }
  }
  const once: Once = { key, body: '-', forMs: GOOD_MS, replays: 1, isOneUse: true }
  const [receipt, ...more] = meters.map(receiptOf)
  const { charge, decision } = first as Meters
  const further = { charge: others.map((each) => each.charge), decision: others.map((each) => each.decision) }
  const hasMore = others.length > 0
  return {
    charge: { ...charge, once, ...(hasMore && { others: further.charge }) },
    decision: {
      ...{ ...decision, at, ...(hasMore && { others: further.decision }) },
      once: { kind: 'replayed', since: at, receipt: { ...(receipt as Receipt), ...(hasMore && { others: more }) } },
    },
    meter: i,
  }
}

interface Meters {
  readonly charge: Charge
  readonly decision: Decision
}

interface Again extends Meters {
  readonly meter: number
}

function meterOf(payer: Payer, meter: ChargedMeter, policy: Policy): Meters {
  const { category, cost, organisation, personal, theirs, global } = meter
  const known = policy.categories.includes(category) ? policy.limitsFor(category, payer) : null
  const limits: Limits = {
    personal: limitsOf(personal, known?.personal),
    organisation: organisation === null ? null : limitsOf(theirs, known?.organisation),
    global: global.length === 0 ? null : limitsOf(global, known?.global),
  }
  return {
    charge: { user: payer.user, organisation, category, cost, limits },
    decision: {
      ...{ accepted: true, at: 0, batch: undefined, personal: usagesOf(personal) },
      organisation: organisation === null ? null : usagesOf(theirs),
      global: global.length === 0 ? null : usagesOf(global),
      ...(meter.grants !== undefined && { paidBy: paidBy(meter.grants) }),
    },
  }
}

function paidBy(grants: readonly PaidWords[]): PaidByGrants {
  const of = (scope: 'personal' | 'organisation'): PaidByGrant | null => {
    const [, id, seconds, startedAt, used] = grants.find(([each]) => each === scope) ?? []
    if (id === undefined || seconds === undefined || startedAt === undefined || used === undefined) return null
    return { grant: { id, window: { name: id, seconds }, limit: 0, until: 0 }, startedAt, used }
  }
  return { personal: of('personal'), organisation: of('organisation') }
}

function receiptOf({ category, organisation, personal, theirs, global, grants = [] }: ChargedMeter): Receipt {
  const runs = (words: readonly number[], scope?: 'personal' | 'organisation'): ChargedRun[] => [
    ...runsOf(words).map(({ seconds, startedAt }) => ({ seconds, startedAt })),
    ...grants.flatMap(([of, grant, seconds, startedAt]) => (of === scope ? [{ grant, seconds, startedAt }] : [])),
  ]
  return {
    category,
    organisation,
    runs: { personal: runs(personal, 'personal'), organisation: runs(theirs, 'organisation'), global: runs(global) },
  }
}

/**
 * The windows of the runs with the present limits, which alerts and the count of overuse need. No charge is refused by these limits, so a
 * limit that is gone is 0.
 */
function limitsOf(runs: readonly number[], known: readonly Limit[] | null = null): Limit[] {
  return runsOf(runs).map(({ seconds }) => {
    const limit = known?.find(({ window }) => window.seconds === seconds)
    return limit ?? { window: { name: `${seconds}s`, seconds }, limit: 0 }
  })
}

function usagesOf(runs: readonly number[]): Usage[] {
  return runsOf(runs).map(({ startedAt, used }) => ({ used, startedAt }))
}

function runsOf(words: readonly number[]): (ChargedRun & Usage)[] {
  return Array.from({ length: words.length / 3 }, (_, i) => {
    const [seconds = 0, startedAt = 0, used = 0] = words.slice(3 * i, 3 * i + 3)
    return { seconds, startedAt, used }
  })
}
