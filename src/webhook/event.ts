import { kindOf } from '../alerts/alert-kinds.ts'
import type { TakenEvent } from '../alerts/alert-store.ts'

/** An event that an administrator sends to test whether a receiver accepts it. Nothing has happened. */
export interface TestEvent {
  readonly id: string
  /** The name of the alert. */
  readonly tested: string
  /** The time in milliseconds since the epoch. */
  readonly at: number
}

export type SentEvent = Pick<TakenEvent, 'id' | 'happening'> | TestEvent

/** The body for receivers: an event in the structured JSON form of CloudEvents 1.0, with the same bytes at each attempt. */
export function eventBody(event: SentEvent): string {
  if ('tested' in event) {
    const { id, tested: alert, at } = event
    return cloudEvent({ id, alert, at, type: 'alert.test', subject: 'test', data: { alert, scope: 'test' } })
  }
  const { id, happening } = event
  const { alert, at, scope } = happening
  const subject = happening.subject === null ? scope : `${scope}:${happening.subject}`
  return cloudEvent({ id, alert, at, type: kindOf(scope).event.type, subject, data: dataOf(happening) })
}

interface CloudEvent {
  readonly id: string
  readonly alert: string
  readonly at: number
  readonly type: string
  readonly subject: string
  readonly data: Record<string, unknown>
}

function cloudEvent({ id, alert, at, type, subject, data }: CloudEvent): string {
  return JSON.stringify({
    specversion: '1.0',
    id,
    source: `/tollgate/alerts/${alert}`,
    type: `tollgate.${type}`,
    subject,
    time: iso(at),
    datacontenttype: 'application/json',
    data,
  })
}

function dataOf(happening: TakenEvent['happening']): Record<string, unknown> {
  const { alert, scope, category, window, threshold, startedAt, endsAt } = happening
  const { scopes, hasWindow, event } = kindOf(scope)
  const subject = scopes[scope]?.subject ?? null
  return {
    ...{ alert, scope },
    ...(subject !== null && { [subject]: happening.subject }),
    ...(hasWindow && { category, window }),
    ...{ threshold, share: shareOf(happening.used, happening.limit) },
    ...Object.fromEntries(Object.entries(event.amounts).map(([name, amount]) => [name, happening[amount]])),
    ...{ startedAt: iso(startedAt), [event.end]: iso(endsAt) },
  }
}

/** A limit of 0 is always used up. */
function shareOf(part: number, whole: number): number {
  return whole === 0 ? 1 : Math.round((part / whole) * 10_000) / 10_000
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
