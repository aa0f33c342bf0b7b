import { z } from 'zod'
import { alertEvent } from './alerts.ts'
import { refusal } from './now.ts'
import { auditEntry, token } from './records.ts'
import { override } from './users.ts'
import { count, grant, name, time } from './values.ts'

/** Everything that is kept of one person, and its removal. */

const run = z.strictObject({
  category: z.string(),
  window: z.string(),
  seconds: z.int().min(1),
  start: time,
  tokens: count,
  running: z.boolean(),
})

export const personExport = name(
  z.strictObject({
    user: z.string(),
    at: time,
    firstChargeAt: time.nullable(),
    plan: z.string().nullable(),
    organisation: z.string().nullable(),
    periodDay: z.int().min(1).max(31).optional(),
    override: override.nullable(),
    grants: z.array(grant),
    accessKeys: z.array(token),
    usage: z.array(run),
    refusals: z.array(refusal.extend({ shadow: z.boolean() })),
    alerts: z.array(alertEvent),
    audit: z.array(auditEntry),
  }),
  'PersonExport',
  'Everything that the store keeps about one user at one moment: what the last credential named, the override, the runs of windows, refusals (with `shadow` for those that would have been), alerts, and the entries of the audit that name the user. `firstChargeAt` is known only with quota.reserve.',
)

export const personForgotten = name(
  z.strictObject({ alias: z.string(), version: count }),
  'PersonForgotten',
  'The name that the audit has instead of the user from now on, and the number of the entry.',
)
