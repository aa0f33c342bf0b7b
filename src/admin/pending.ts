import { patchBack } from '../control/leaves.ts'
import { inOrder, isEnd } from '../control/pending.ts'
import type { Changes, End, Pending, Start } from '../control/state.ts'
import type { ScheduledResponse } from './api.ts'
import { iso } from './http.ts'

/** What gateways are to change by themselves, as administrators see it; no members if there is nothing. */
export function pendingShown({ pending }: Changes): { readonly scheduled?: readonly ScheduledResponse[] } {
  return pending === undefined ? {} : listed(pending)
}

function listed(pending: Pending): { readonly scheduled?: readonly ScheduledResponse[] } {
  const scheduled = inOrder(pending).map(scheduledShown)
  return scheduled.length === 0 ? {} : { scheduled }
}

function scheduledShown(one: Start | End): ScheduledResponse {
  const { id, at, who, why } = one
  const about = { id, at: iso(at), who, why }
  if (isEnd(one)) return { ...about, what: 'end', patch: { ...patchBack(one.leaves) } }
  const { patch, until } = one
  return { ...about, what: 'start', patch, ...(until !== null && { until: iso(until) }) }
}

/** The same of a value in the audit, whatever it is of. */
export function withPendingShown(value: object): object {
  if (!('pending' in value)) return value
  const { pending, ...rest } = value
  return { ...rest, pending: listed(pending as Pending) }
}
