import { z } from 'zod'
import { ALERT_KINDS, ALERT_SCOPES, type AlertKeys } from '../../alerts/alert-kinds.ts'
import { count, name, share, time } from './values.ts'

/** Alerts: the configured ones, and what happened to their events. */

const scope = z.enum(ALERT_SCOPES)

/** The keys of all kinds of alerts. A key that belongs to another kind is `null`. */
const own = Object.fromEntries(
  ALERT_KINDS.flatMap(({ keys }) =>
    Object.entries(keys).map(([key, { means }]) => {
      const description = `${means}; null for an alert that is of another scope.`
      return [key, z.int().nullable().describe(description)]
    }),
  ),
) as Record<keyof AlertKeys, z.ZodNullable<z.ZodInt>>

const COUNTS = ALERT_KINDS.flatMap(({ scopes, counts }) =>
  counts === null ? [] : `For an alert about ${Object.keys(scopes).join(' or ')}, ${counts}. `,
)

const alert = z.strictObject({
  name: z.string(),
  scope,
  category: z.string().nullable(),
  window: z.string().nullable(),
  ...own,
  at: z.array(share),
  receiver: z.string(),
  pending: count,
})

export const alertEvent = z.strictObject({
  id: z.string(),
  alert: z.string(),
  scope,
  subject: z.string().nullable(),
  category: z.string().nullable(),
  window: z.string().nullable(),
  threshold: share,
  used: count,
  limit: count,
  at: time,
  startedAt: time,
  endsAt: time,
  state: z.enum(['pending', 'delivered', 'given_up']),
  attempts: count,
  nextAttemptAt: time.nullable(),
  doneAt: time.nullable(),
  lastError: z.string().nullable(),
})

export const alertTest = name(
  z.strictObject({ delivered: z.boolean(), error: z.string().nullable() }),
  'AlertTest',
  'Whether the receiver of an alert accepted an event of the type `tollgate.alert.test`, and why not. The event was sent once and is not stored.',
)

export const alerts = name(
  z.strictObject({
    alerts: z.array(alert),
    former: z.array(z.strictObject({ name: z.string(), pending: count })),
    events: z.array(alertEvent),
  }),
  'Alerts',
  `The alerts in the configuration, each with the scheme, host and port of its receiver and the number of pending events. \`former\` are alerts with pending events that this gateway does not have, and \`events\` are the newest events. ${COUNTS.join('')}\`subject\` is the user or the organisation.`,
)
