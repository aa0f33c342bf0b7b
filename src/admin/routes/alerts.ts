import { z } from 'zod'
import type { AlertRecord, AlertStore } from '../../alerts/alert-store.ts'
import type { Delivery } from '../../alerts/courier.ts'
import * as schemas from '../../contract/admin.ts'
import type { AlertsResponse, AlertTestResponse } from '../../contract/api.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { limit } from '../fields.ts'
import { type AdminResponse, type Call, iso, isoOrNull, ok, type Route, refusal } from '../http.ts'
import { route } from '../route.ts'
import type { Setup } from '../state.ts'

const Page = z.strictObject({
  alert: z.string().max(64).optional().describe('Only events of the alert with this name'),
  limit: limit(200, 50),
})

/** Sends a test event to the receiver of an alert. @returns `null` if no such alert is configured */
export type TestAlert = (alert: string, signal: AbortSignal) => Promise<Delivery | null>

interface AlertRoutesOptions {
  readonly store: Pick<AlertStore, 'readAlerts' | 'listAlerts'>
  readonly setup: () => Setup
  readonly testAlert: TestAlert
}

/** The routes of alerts: their events with the result of the delivery, and a test. They show no secrets of a receiver. */
export function alertRoutes({ store, setup, testAlert }: AlertRoutesOptions): Route[] {
  /** One test at a time, so that a receiver never gets several at once. */
  const inTurn = oneAtATime()

  /** Alerts that are not in the configuration but still have waiting events. */
  async function formerAlerts(wanted: string | undefined): Promise<AlertsResponse['former']> {
    const configured = new Set(setup().alerts.map(({ name }) => name))
    const waiting = (await store.listAlerts()).filter(({ alert, pending }) => pending > 0 && !configured.has(alert))
    const former = waiting.map(({ alert: name, pending }) => ({ name, pending }))
    return former.filter(({ name }) => wanted === undefined || name === wanted)
  }

  async function show({ alert, limit: most }: z.infer<typeof Page>): Promise<AdminResponse> {
    const configured = setup().alerts.filter(({ name }) => alert === undefined || name === alert)
    const former = await formerAlerts(alert)
    const names = [...configured, ...former].map(({ name }) => name)
    const read = await store.readAlerts(names, most)
    const newest = read.flatMap(({ events }) => events).sort((a, b) => b.raisedAt - a.raisedAt)
    const response: AlertsResponse = {
      alerts: configured.map((one, i) => ({ ...one, at: [...one.at], pending: read[i]?.pending ?? 0 })),
      former,
      events: newest.slice(0, most).map(shownEvent),
    }
    return ok(response)
  }

  async function test({ params, signal }: Call): Promise<AdminResponse> {
    const delivery = await testAlert(params.name ?? '', signal)
    if (delivery === null) return refusal('not_found', 'The configuration has no alert of this name.')
    const isDelivered = delivery.kind === 'delivered'
    return ok({ delivered: isDelivered, error: isDelivered ? null : delivery.error } satisfies AlertTestResponse)
  }

  return [
    route('POST', '/api/alerts/:name/test', {
      summary: 'Sends a test event to the receiver of an alert',
      responses: { 200: schemas.alertTest },
      errors: ['not_found'],
      handle: (call) => inTurn(() => test(call)),
    }),
    route('GET', '/api/alerts', {
      summary: 'The alerts in the configuration, and the newest events with the result of their delivery',
      query: Page,
      responses: { 200: schemas.alerts },
      handle: ({ query }) => show(query),
    }),
  ]
}

export function shownEvent(record: AlertRecord): AlertsResponse['events'][number] {
  const { id, happening, state, attempts, dueAt, doneAt, lastError } = record
  return {
    ...{ id, ...happening, state, attempts },
    ...{ at: iso(happening.at), startedAt: iso(happening.startedAt), endsAt: iso(happening.endsAt) },
    nextAttemptAt: isoOrNull(dueAt),
    doneAt: isoOrNull(doneAt),
    lastError,
  }
}
