import type { AlertsResponse } from '../../contract/api.ts'

/** The state of each configured alert, from its newest events. Pure. */

type Alert = AlertsResponse['alerts'][number]
type AlertEvent = AlertsResponse['events'][number]

export interface AlertState {
  readonly alert: Alert
  /** The newest event; `null` if none is known. */
  readonly latest: AlertEvent | null
  /** Whether the window or half hour of the newest event is still going on. */
  readonly raised: boolean
  /** When the receiver last accepted an event, in ISO 8601; `null` if none is known. */
  readonly delivered: string | null
  /** Why the receiver did not accept the newest event that was sent; `null` if it did, or if none was sent. */
  readonly failing: string | null
}

/** @param now milliseconds since the epoch */
export function alertStates(
  { alerts, events }: Pick<AlertsResponse, 'alerts' | 'events'>,
  now: number,
): readonly AlertState[] {
  return alerts.map((alert) => {
    const own = events.filter((event) => event.alert === alert.name).toSorted(latestFirst)
    const latest = own[0] ?? null
    return {
      alert,
      latest,
      raised: latest !== null && Date.parse(latest.endsAt) > now,
      delivered: latestDelivery(own),
      failing: failureOf(own.find(({ attempts }) => attempts > 0)),
    }
  })
}

/** The alerts with events that are still going on. Events are newest first, and of two at the same moment the higher threshold is first. */
export function raisedAlerts(
  { events }: Pick<AlertsResponse, 'events'>,
  now: number,
): readonly { readonly name: string; readonly events: readonly [AlertEvent, ...AlertEvent[]] }[] {
  const going = events.filter(({ endsAt }) => Date.parse(endsAt) > now).toSorted(latestFirst)
  return [...Map.groupBy(going, ({ alert }) => alert)].flatMap(([name, [first, ...others]]) =>
    first === undefined ? [] : [{ name, events: [first, ...others] as const }],
  )
}

/** Two thresholds may be reached at the same moment. */
function latestFirst(a: AlertEvent, b: AlertEvent): number {
  return Date.parse(b.at) - Date.parse(a.at) || b.threshold - a.threshold
}

function failureOf(tried: AlertEvent | undefined): string | null {
  return tried === undefined || tried.state === 'delivered' ? null : tried.lastError
}

function latestDelivery(events: readonly AlertEvent[]): string | null {
  const times = events.flatMap(({ state, doneAt }) => (state === 'delivered' && doneAt !== null ? [doneAt] : []))
  return times.sort((a, b) => Date.parse(b) - Date.parse(a))[0] ?? null
}
