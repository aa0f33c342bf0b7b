import { z } from 'zod'
import { USAGE_KINDS, USAGE_STEPS } from '../../usage/usage-query.ts'
import { count, grant, name, time } from './values.ts'

/** What was used. */

const row = z.strictObject({
  user: z.string().optional(),
  organisation: z.string().optional(),
  plan: z.string().optional(),
  category: z.string().optional(),
  route: z.string().optional(),
  window: z.string().optional(),
  start: time,
  end: time,
  tokens: z.int(),
  running: z.boolean(),
  requests: count.optional(),
  accepted: count.optional(),
  refusedPersonal: count.optional(),
  refusedOrganisation: count.optional(),
  refusedGlobal: count.optional(),
  shadowed: count.optional(),
  status4xx: count.optional(),
  status5xx: count.optional(),
  status0: count.optional(),
  gateway5xx: count.optional(),
  over: z.int().optional(),
  latency: z.array(count).optional(),
})

export const usage = name(
  z.strictObject({
    from: time,
    to: time,
    by: z.enum(USAGE_KINDS),
    step: z.enum(USAGE_STEPS),
    window: z.string().nullable(),
    complete: z.boolean(),
    rows: z.array(row),
    /** Only where one user or organisation is asked for that was given some. */
    grants: z.array(grant).optional(),
    next: z.string().nullable(),
  }),
  'Usage',
  'What was used in a range. Of users and organisations it is the runs of one `window` that start in the range, or of one for each category, which its rows name, where no window counts them all; of the others the half hours that begin in it, or its days if it has whole ones, with counts of requests and their latency. Their rows have what grants paid too, and `grants` has of each grant what was taken of it, whenever that was. `complete` says whether all of that is still kept.',
)
