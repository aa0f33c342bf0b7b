import { amountOf, type Charge, type Decision, type Meter, type Refund, refundedMeter } from './charge.ts'
import { chargedScopes, EVERYBODY, firstPaidBeside, type ScopeName } from './charged-scopes.ts'
import { accountOf, type Grant } from './grant.ts'
import type { ChargedRun, Receipt, Report } from './once.ts'

/** What a refund reports about a request with a key; `null` for a request without a key. */
export function reportOf(refund: Refund): Report | null {
  const { charge, decision, meter = 0, amount } = refund
  const { once } = decision
  if (charge.once === undefined || once === undefined || once.kind === 'reused') return null
  const reserve = refundedMeter(refund).charge.cost
  const cost = reserve - amountOf(refund)
  const isFirst = once.kind === 'charged'
  return {
    once: charge.once,
    meter,
    reserve,
    cost,
    isFirst,
    isUnreached: amount === undefined,
    since: once.since,
  }
}

/** Reports the amount of each refund that was made. @param amounts for requests with a key, in their order */
export function reportMade(refunds: readonly Refund[], amounts: readonly number[]): void {
  let next = 0
  for (const refund of refunds) {
    const amount = reportOf(refund) === null ? amountOf(refund) : (amounts[next++] ?? 0)
    refund.onMade?.(amount)
  }
}

/** The runs of one owner in which a charge was counted. */
interface ChargedRuns {
  readonly scope: ScopeName
  /** The id of the user or the organisation; `EVERYBODY` in the global scope. */
  readonly id: string
  readonly category: string
  readonly runs: readonly ChargedRun[]
}

/** Where the meter of a refund was counted. For a repetition this is where the original charge was counted. */
export function chargedRuns(refund: Refund): ChargedRuns[] {
  const { once } = refund.decision
  const { charge, decision } = refundedMeter(refund)
  const receipt = once?.kind === 'replayed' ? meterIn(once.receipt, refund.meter) : receiptOf(charge, decision)
  if (receipt === null) return []
  const { category, organisation, runs } = receipt
  const scopes: ChargedRuns[] = [{ scope: 'personal', id: charge.user, category, runs: ofWindows(runs.personal) }]
  addAccounts(scopes, 'personal', charge.user, runs.personal)
  if (organisation !== null) {
    scopes.push({ scope: 'organisation', id: organisation, category, runs: ofWindows(runs.organisation) })
    addAccounts(scopes, 'organisation', organisation, runs.organisation)
  }
  if (runs.global.length > 0) scopes.push({ scope: 'global', id: EVERYBODY, category, runs: runs.global })
  return scopes
}

function ofWindows(runs: readonly ChargedRun[]): readonly ChargedRun[] {
  return runs.some(({ grant }) => grant !== undefined) ? runs.filter(({ grant }) => grant === undefined) : runs
}

/** Adds the runs of the grants that have paid. */
function addAccounts(scopes: ChargedRuns[], scope: ScopeName, id: string, runs: readonly ChargedRun[]): void {
  for (const { seconds, startedAt, grant } of runs) {
    if (grant === undefined || startedAt === 0) continue
    scopes.push({ scope, id, category: accountOf(grant), runs: [{ seconds, startedAt }] })
  }
}

/** `null` if the charge had fewer meters than its repetition. */
function meterIn(receipt: Receipt, meter = 0): Receipt | null {
  return meter === 0 ? receipt : (receipt.others?.[meter - 1] ?? null)
}

/** The receipt of an accepted charge. */
export function receiptOf(charge: Charge, decision: Decision): Receipt {
  const { others } = charge
  const receipt = meterReceipt(charge, decision)
  if (others === undefined) return receipt
  return { ...receipt, others: others.map((meter, i) => meterReceipt(meter, decision.others?.[i] as Decision)) }
}

function meterReceipt(charge: Meter, decision: Decision): Receipt {
  const receipt = { category: charge.category, organisation: null as string | null }
  const runs: Record<ScopeName, readonly ChargedRun[]> = { personal: [], organisation: [], global: [] }
  for (const { scope, id, limits, usages } of chargedScopes(charge, decision)) {
    if (scope === 'organisation') receipt.organisation = id
    const payer = scope === 'global' ? null : decision.paidBy?.[scope]
    const first = payer ? firstPaidBeside(limits) : 0
    const own = limits.map(({ window: { seconds } }, i) => ({
      seconds,
      startedAt: i < first ? 0 : (usages[i]?.startedAt ?? 0),
    }))
    runs[scope] = payer ? [...own, runOfGrant(payer.grant, payer.startedAt)] : own
  }
  return { ...receipt, runs }
}

/** @param startedAt 0 for a grant that has not paid */
function runOfGrant({ id, window: { seconds } }: Grant, startedAt: number): ChargedRun {
  return { grant: id, seconds, startedAt }
}
