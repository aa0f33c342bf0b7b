import { z } from 'zod'
import { askedPrice } from '../price.ts'
import { limit, planInForce } from './limits.ts'
import { byName, count, name } from './values.ts'

/** Explanations of requests. */

/** Codes for the sentences of an explanation. Behind a code are the names of the values in its sentence. */
export const reasonCode = z.enum([
  // The gateway would not accept the request.
  'method_not_accepted',
  'target_too_long', // max: bytes
  'target_no_path',
  'target_unescaped',
  'target_bad_escape',
  'target_control',
  'target_escaped_twice',
  'target_dots',
  'target_escaped_slash',
  'target_empty_segment',
  'target_semicolon',
  'target_no_utf8',
  'target_only_dots',
  'target_letter_case',
  'query_unescaped',
  'body_too_large', // max: bytes
  'priced_in_query', // fields: of the body
  // No route matches, or nothing is charged at the path.
  'no_route',
  'method_not_allowed', // allow: methods
  'own_path',
  'own_options',
  'reference_page',
  'public_document',
  'public_route',
  'unmatched_forwarded',
  'costs_nothing',
  // The quota decides.
  'not_priced', // msg: the sentence for the client
  'no_price', // as `not_priced` or `priced_in_query`, in shadow mode
  'depends_on_body',
  'exempt',
  'room', // cost: tokens
  'room_global_off', // cost
  'room_no_global', // cost
  'room_bypass', // cost, reason: of the override
  'paid_by_grants', // cost, grants: their ids
  'refused', // scope, category, window, resetAt: ISO 8601 UTC
  'would_be_refused', // as `refused`, in shadow mode
  'never_fits', // scope, category, window, limit, cost: no waiting helps
  'would_never_fit', // as `never_fits`, in shadow mode
  'new_user', // kept: tokens of the window for known users only, whole: all tokens, after: age of a known user's first charge
  'costs', // cost
  'costs_at_least', // cost
  'shadow_gateway',
  'shadow_route',
  'shadow_user',
])

export const reasonValues = byName(z.union([z.string(), z.number()]))

/** Tokens, or everything that is reserved. */
const amount = z.union([count, z.literal('all')])

/** How the response decides the cost. */
export const settle = z.strictObject({
  /** The cost by status or class of statuses. The status is checked first. */
  status: byName(amount),
  header: z.string().nullable(),
  json: z.array(z.string()).nullable(),
  sum: byName(z.number().min(0)).nullable(),
  bytesPerToken: count.nullable(),
  max: count.nullable(),
  /** The cost for each value that the response may have; `null` if the value itself is the number of tokens. */
  values: byName(amount).nullable(),
  otherwise: amount,
  missing: amount,
})

/** A window, and whether it refuses. */
const explained = z.strictObject({ ...limit.shape, refuses: z.boolean() })

export const explain = name(
  z.strictObject({
    user: z.string(),
    method: z.string(),
    path: z.string(),
    route: z.strictObject({ match: z.string(), line: z.int().min(1).nullable() }).nullable(),
    category: z.string().nullable(),
    cost: count.nullable(),
    price: askedPrice.nullable(),
    /** Only for a rule with `settle`, whose cost is a reserve. */
    settle: settle.optional(),
    /** Only for a rule with several meters: all but the first meter, in the form of the first. */
    others: z
      .array(
        z.strictObject({
          category: z.string(),
          cost: count.nullable(),
          price: askedPrice.nullable(),
          settle: settle.optional(),
          limits: z.array(explained),
        }),
      )
      .optional(),
    /** Only for a rule with `idempotency`: repetitions with the header are free. `for` is as in the file. */
    idempotency: z.strictObject({ header: z.string(), for: z.string(), replays: count }).optional(),
    /** Only for a rule with `tunnel_charge`: how often an open WebSocket costs `cost` again, as in the file. */
    tunnelCharge: z.string().optional(),
    /** Only with `quota.plans`. */
    plan: planInForce.optional(),
    /** The caller's organisation. Only with `quota.plans`, and if there is one. */
    organisation: z.string().optional(),
    decision: z.enum(['accept', 'refuse', 'shadow', 'not_charged', 'no_route', 'depends_on_body', 'bad_request']),
    why: z.string(),
    reasons: z.array(z.strictObject({ code: reasonCode, values: reasonValues })).min(1),
    limits: z.array(explained),
  }),
  'Explain',
  'What the gateway would do with a request now, and why. `why` gives the reasons in English sentences, and `reasons` as codes with values. A code never changes its meaning.',
)
