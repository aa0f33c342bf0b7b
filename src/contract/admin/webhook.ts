import { z } from 'zod'
import { count, name, share, time } from './values.ts'

/** What receivers of alerts get: CloudEvents 1.0 in the structured form. */

const times = { alert: z.string(), threshold: share, share: z.number().min(0), startedAt: time }
const ofWindow = { ...times, category: z.string(), window: z.string(), used: count, limit: count, resetAt: time }

const data = z.discriminatedUnion('scope', [
  z.strictObject({ scope: z.literal('personal'), user: z.string(), ...ofWindow }),
  z.strictObject({ scope: z.literal('organisation'), organisation: z.string(), ...ofWindow }),
  z.strictObject({ scope: z.literal('global'), ...ofWindow }),
  z.strictObject({ scope: z.literal('failures'), ...times, requests: count, failed: count, endsAt: time }),
  z.strictObject({ scope: z.literal('test'), alert: z.string() }),
])

export const alertNotice = name(
  z.strictObject({
    specversion: z.literal('1.0'),
    id: z.string(),
    source: z.string(),
    type: z.enum(['tollgate.quota.threshold', 'tollgate.failures.threshold', 'tollgate.alert.test']),
    subject: z.string(),
    time,
    datacontenttype: z.literal('application/json'),
    data,
  }),
  'AlertNotice',
  'The event that the receiver of an alert gets, signed as Standard Webhooks says. Each attempt sends the same bytes.',
)
