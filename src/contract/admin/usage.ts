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
    /** Only if the range begins before this time. */
    knownSince: time.optional(),
    rows: z.array(row),
    /** Only on the first page about a single user or organisation that has grants. */
    grants: z.array(grant).optional(),
    next: z.string().nullable(),
  }),
  'Usage',
  'What was used in a time range. For users and organisations a row counts the runs of one `window` that start in the range. If no window counts all categories, each row names its window. For everything else a row counts half hours, or days if the range has whole days, with numbers of requests and their latency. Rows contain what grants paid. `grants` says how many tokens were taken from each grant. `complete` says whether everything from this range is still stored.',
)
