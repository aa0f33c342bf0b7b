import { z } from 'zod'
import { PERIOD_DAY } from '../quota/period-days.ts'
import { byName, count, scope, time } from './admin/values.ts'
import { errorBody, violationOf } from './refusal.ts'

/** What services that ask for decisions send and get. */

/** Schemas with a name in the OpenAPI document. */
export const named = z.registry<{ id: string; description: string }>()

/** The header fields of the request, with the names and values that RFC 9110 section 5 allows. */
const fields = z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,256}$/), z.string().regex(/^[\t -~\x80-\xff]*$/))
const word = (description: string) => z.string().min(1).max(256).describe(description)

export const decideBody = z.strictObject({
  method: z.string().min(1).max(40).describe('Method of the request that is asked about.'),
  path: z.string().min(1).describe('The path of the request, with its query.'),
  headers: fields
    .describe(
      'The headers of the request by name. Headers that only frame the message, such as Content-Length, are ignored.',
    )
    .optional(),
  body: z.string().describe('The body of the request as a text, if it decides the price.').optional(),
  user: word(
    'The user of the request, as the service knows the user. Without this field, the gateway looks for a credential in `headers`.',
  ).optional(),
  organisation: word('The organisation of the user.').optional(),
  plan: word('The plan of the user.').optional(),
  periodDay: z
    .int()
    .min(PERIOD_DAY.min)
    .max(PERIOD_DAY.max)
    .describe('The day of the month on which the months of the user and of the organisation begin.')
    .optional(),
  charges: byName(count.max(1_000_000_000))
    .refine((of) => Object.keys(of).length <= 4, { error: 'more than four categories' })
    .describe(
      'What the request costs, by category, instead of the price of its rule. There can be up to four categories, and all of them are charged or none.',
    )
    .optional(),
  key: word(
    'A text by which the gateway recognises a repeated question for an hour. The question is charged once.',
  ).optional(),
})
named.add(decideBody, { id: 'Question', description: 'A request that a service has got, with its user.' })

const window = z.strictObject({
  scope,
  category: z.string(),
  window: z.string(),
  limit: count,
  over: count.describe('Tokens that may be spent beyond the limit. Absent if there are none.').optional(),
  remaining: count,
  resetAt: time.nullable().describe('When the window has room again, in UTC; null if it is not running.'),
})
export type DecidedWindow = z.output<typeof window>
named.add(window, {
  id: 'Window',
  description: 'A window in which the request was counted, or would have been counted.',
})

export const decided = z.strictObject({
  allowed: z.boolean().describe('Whether the request may pass.'),
  id: z
    .string()
    .nullable()
    .describe('Id with which you can settle or refund the charge within an hour; null if that is not possible.'),
  user: z.string().nullable().describe('The user of the request; null if the user is not known.'),
  charges: byName(count).describe('The tokens that were charged, by category. A refusal has none.'),
  limits: z.array(window).describe('The windows that decided, with the tokens that are left in each.'),
  status: z.int().describe('The status that a client of the gateway would get. Present only for a refusal.').optional(),
  error: z.string().optional(),
  msg: z.string().optional(),
  quota: violationOf(z.string(), z.string()).optional(),
  retryAfterSeconds: z.int().optional(),
})
export type Decided = z.output<typeof decided>
named.add(decided, { id: 'Decision', description: 'Whether a request may pass, and what was charged for it.' })

/** The most tokens of one category that a service may report for a request. */
const MOST_TOKENS = 1_000_000_000
/** An id contains names of up to 256 bytes, among them the organisation's once for each category, and three numbers for each window. */
const id = z.string().max(16_384).describe('The `id` of the decision.')

export const settleBody = z.strictObject({
  id,
  charges: byName(count.max(MOST_TOKENS)).describe(
    'What the request really cost, by category. A category that you leave out keeps its charge.',
  ),
})
named.add(settleBody, { id: 'Settlement', description: 'What a request cost in the end.' })
export const refundBody = z.strictObject({ id })
named.add(refundBody, { id: 'Refund', description: 'A request that was not served, so that its charge is given back.' })
export const settledBody = z.strictObject({
  id,
  changed: byName(z.int()).describe(
    'Tokens that were charged in addition, by category. A number below 0 was given back. It is 0 if the decision was settled before.',
  ),
})
named.add(settledBody, { id: 'Settled', description: 'How the charge was changed.' })

named.add(errorBody, { id: 'Error', description: 'Why the gateway does not accept the question itself.' })
