import { isVerified } from '../auth/verdict.ts'
import type { Exchange } from '../gateway/context.ts'
import { isPaid } from '../gateway/settlement.ts'
import { type Decision, decisionsOf, metersOf } from '../quota/charge.ts'
import type { ScopeName } from '../quota/charged-scopes.ts'
import type { Receipt } from '../quota/once.ts'
import { receiptOf } from '../quota/receipt.ts'
import type { ChargedMeter, PaidWords, Receipts } from './receipts.ts'

/**
 * The id by which a decision can be settled later. `null` if the store charged nothing, or if the key of the charge came from the client and
 * not from the service that asks.
 */
export function idOf(receipts: Receipts, { settlement, caller, route, given, requestId }: Exchange): string | null {
  if (caller === null || route === null || !isPaid(settlement)) return null
  const { charge, decision } = settlement
  const isKeyed = decision.once !== undefined
  if (decision.limits !== undefined || (isKeyed && given?.key == null)) return null
  const { user, organisation, plan, periodDay } = caller
  const { once } = decision
  const receipt = once?.kind === 'replayed' ? once.receipt : receiptOf(charge, decision)
  return receipts.idOf({
    at: once !== undefined && once.kind !== 'reused' ? once.since : decision.at,
    payer: { user, organisation, plan, ...(periodDay !== undefined && { periodDay }) },
    isVerified: isVerified(caller),
    route: route.match,
    requestId,
    key: isKeyed ? (charge.once?.key ?? null) : null,
    meters: [receipt, ...(receipt.others ?? [])].map((each, i) =>
      meterOf(each, metersOf(charge)[i]?.cost ?? 0, decisionsOf(decision)[i]),
    ),
  })
}

function meterOf({ category, organisation, runs }: Receipt, cost: number, decision?: Decision): ChargedMeter {
  const words = (scope: ScopeName) =>
    runs[scope].flatMap(({ seconds, startedAt, grant }, i) =>
      grant === undefined ? [seconds, startedAt, decision?.[scope]?.[i]?.used ?? 0] : [],
    )
  const paid = (scope: 'personal' | 'organisation') =>
    runs[scope].flatMap(({ seconds, startedAt, grant }): PaidWords[] =>
      grant === undefined ? [] : [[scope, grant, seconds, startedAt, decision?.paidBy?.[scope]?.used ?? 0]],
    )
  const [personal, theirs, global] = [words('personal'), words('organisation'), words('global')]
  const grants = [...paid('personal'), ...paid('organisation')]
  return { category, cost, organisation, personal, theirs, global, ...(grants.length > 0 && { grants }) }
}
