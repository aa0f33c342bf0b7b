import { z } from 'zod'
import { ALERT_KINDS } from '../../alerts/alert-kinds.ts'
import { count, name, share, time } from './values.ts'

/** Events for receivers of alerts: CloudEvents 1.0 in the structured form. */

const text = z.string()

/** The data of an event, one schema for each scope, with the members in the order in which `eventBody` writes them. */
const ofScopes = ALERT_KINDS.flatMap(({ scopes, hasWindow, event }) =>
  Object.entries(scopes).map(([scope, { subject }]) =>
    z.strictObject({
      scope: z.literal(scope),
      alert: text,
      ...(subject !== null && { [subject]: text }),
      ...(hasWindow && { category: text, window: text }),
      ...{ threshold: share, share: z.number().min(0) },
      ...Object.fromEntries(Object.keys(event.amounts).map((amount) => [amount, count])),
      ...{ startedAt: time, [event.end]: time },
    }),
  ),
)

export const alertNotice = name(
  z.strictObject({
    specversion: z.literal('1.0'),
    id: text,
    source: text,
    type: z.enum([...ALERT_KINDS.map(({ event }) => `tollgate.${event.type}`), 'tollgate.alert.test']),
    subject: text,
    time,
    datacontenttype: z.literal('application/json'),
    data: z.discriminatedUnion('scope', [z.strictObject({ scope: z.literal('test'), alert: text }), ...ofScopes]),
  }),
  'AlertNotice',
  'The event that the receiver of an alert gets, signed as Standard Webhooks says. Each attempt sends the same bytes.',
)
