import { patchBack } from '../control/leaves.ts'
import { inOrder, isEnd } from '../control/pending.ts'
import type { Changes, End, Guard, Pending, Start } from '../control/state.ts'
import type { GuardResponse, ScheduledResponse } from './api.ts'
import { iso } from './http.ts'

interface PendingShown {
  readonly guard?: GuardResponse
  readonly scheduled?: readonly ScheduledResponse[]
}

/** What gateways are to change by themselves, as administrators see it; no members if there is nothing. */
export function pendingShown({ pending }: Changes): PendingShown {
  return pending === undefined ? {} : listed(pending)
}

function listed(pending: Pending): PendingShown {
  const scheduled = inOrder(pending).map(scheduledShown)
  return {
    ...(pending.guard !== undefined && { guard: guardShown(pending.guard) }),
    ...(scheduled.length > 0 && { scheduled }),
  }
}

function guardShown({ until, refused, leaves, who, why }: Guard): GuardResponse {
  return { until: iso(until), refused, patch: { ...patchBack(leaves) }, who, why }
}

function scheduledShown(one: Start | End): ScheduledResponse {
  const { id, at, who, why } = one
  const about = { id, at: iso(at), who, why }
  if (isEnd(one)) return { ...about, what: 'end', patch: { ...patchBack(one.leaves) } }
  const { patch, until, guard } = one
  return {
    ...about,
    what: 'start',
    patch,
    ...(until !== null && { until: iso(until) }),
    ...(guard !== undefined && { guard: { seconds: guard.forMs / 1000, refused: guard.refused } }),
  }
}

/** The same of a value in the audit, whatever it is of. */
export function withPendingShown(value: object): object {
  if (!('pending' in value)) return value
  const { pending, ...rest } = value
  return { ...rest, pending: listed(pending as Pending) }
}
