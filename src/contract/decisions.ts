import { z } from 'zod'
import { PERIOD_DAY } from '../quota/period-days.ts'
import { byName, count, scope, time } from './admin/values.ts'
import { errorBody, violationOf } from './refusal.ts'

/** What services that ask for decisions send and get. */

/** Those with a name of their own in the OpenAPI document, in its order. */
export const named = z.registry<{ id: string; description: string }>()

/** RFC 9110 section 5: what a field of the request may be called and say. */
const fields = z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,256}$/), z.string().regex(/^[\t -~\x80-\xff]*$/))
const word = (description: string) => z.string().min(1).max(256).describe(description)

export const decideBody = z.strictObject({
  method: z.string().min(1).max(40).describe('Method of the request that is asked about.'),
  path: z.string().min(1).describe('Its path, and the query behind it.'),
  headers: fields.describe('Its header fields by name. Those of its framing count for nothing.').optional(),
  body: z.string().describe('Its body as a text, where a price is in it.').optional(),
  user: word('Who asks, as the service knows it. Without it the credential in headers says it.').optional(),
  organisation: word('The organisation of that user.').optional(),
  plan: word('The plan of that user.').optional(),
  periodDay: z
    .int()
    .min(PERIOD_DAY.min)
    .max(PERIOD_DAY.max)
    .describe('The day with which months of that user, and of the organisation, begin.')
    .optional(),
  charges: byName(count.max(1_000_000_000))
    .refine((of) => Object.keys(of).length <= 4, { error: 'more than four categories' })
    .describe(
      'What the request costs, by category, in place of what its rule says: up to four, of which all are charged or none.',
    )
    .optional(),
  key: word('By which the same question is known for an hour: it is charged once.').optional(),
})
named.add(decideBody, { id: 'Question', description: 'A request that a service has got, and whose it is.' })

const window = z.strictObject({
  scope,
  category: z.string(),
  window: z.string(),
  limit: count,
  over: count.describe('Tokens beyond the limit that pass all the same. Absent where none do.').optional(),
  remaining: count,
  resetAt: time.nullable().describe('When the window has room again, in UTC; null if it is not running.'),
})
export type DecidedWindow = z.output<typeof window>
named.add(window, { id: 'Window', description: 'A window that the request was counted in, or would have been.' })

export const decided = z.strictObject({
  allowed: z.boolean().describe('Whether the service may go on.'),
  id: z.string().nullable().describe('By which the charge is settled or refunded for an hour; null if it cannot be.'),
  user: z.string().nullable().describe('Whose request it is; null if nobody is known.'),
  charges: byName(count).describe('The tokens that were taken, by category; none of a refusal.'),
  limits: z.array(window).describe('The windows that decided, and what is left of each.'),
  status: z.int().describe('What a client of the gateway would get. Only of a refusal.').optional(),
  error: z.string().optional(),
  msg: z.string().optional(),
  quota: violationOf(z.string(), z.string()).optional(),
  retryAfterSeconds: z.int().optional(),
})
export type Decided = z.output<typeof decided>
named.add(decided, { id: 'Decision', description: 'Whether a request may go on, and what it was charged.' })

/** The most that a service may report of a request. */
const MOST_TOKENS = 1_000_000_000
/** An id holds names of 256 bytes, that of an organisation once for each category, and three numbers of each window. */
const id = z.string().max(16_384).describe('That of the decision.')

export const settleBody = z.strictObject({
  id,
  charges: byName(count.max(MOST_TOKENS)).describe('What the request cost, by category. Of others the charge stays.'),
})
named.add(settleBody, { id: 'Settlement', description: 'What a request cost in the end.' })
export const refundBody = z.strictObject({ id })
named.add(refundBody, { id: 'Refund', description: 'A request that was not served.' })
export const settledBody = z.strictObject({
  id,
  changed: byName(z.int()).describe(
    'Tokens that were taken in addition, by category; below 0, that were given back. 0 if it was settled before.',
  ),
})
named.add(settledBody, { id: 'Settled', description: 'What became of the charge.' })

named.add(errorBody, { id: 'Error', description: 'Why the question itself is refused.' })
