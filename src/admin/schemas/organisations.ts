import { z } from 'zod'
import { byName, count, name, time } from './values.ts'

/** Organisations: what their users have used together. */

const window = z.strictObject({
  window: z.string(),
  /** By the plan that sets it: users of one organisation may have different ones. */
  limits: byName(count),
  used: count,
  startedAt: time.nullable(),
  resetAt: time.nullable(),
})

export const organisation = name(
  z.strictObject({ organisation: z.string(), windows: byName(z.array(window)) }),
  'Organisation',
  'The windows of an organisation by category, shortest first: those that some plan limits. `limits` has what each such plan allows.',
)

export const organisations = name(
  z.strictObject({ organisations: z.array(organisation), next: z.string().nullable() }),
  'Organisations',
  'A page of organisations whose users have used something. `next` is the cursor of the next page; a page may be short, also empty, and not the last.',
)
