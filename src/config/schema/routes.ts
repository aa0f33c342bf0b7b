import type { z } from 'zod'
import type { Price } from '../../inputs/price.ts'
import { repetitionHeaderProblem } from '../headers.ts'
import { parsePattern } from '../pattern.ts'
import { fixed, price } from './price.ts'
import { settle } from './settle.ts'
import { tokens } from './tokens.ts'
import { byName, choice, duration, either, flag, integer, list, name, or, read, section, text } from './values.ts'

/** The route map. */

/** The most categories in which one request is charged. */
const MOST_METERS = 4

/** What a rule charges in one category. */
interface Meter {
  readonly category: string
  readonly cost: Price
  readonly settle: z.output<typeof settle> | null
}

const charges = byName(
  either('tokens (an integer from 0 to 1000000000) or { cost, settle }', [
    tokens().transform((cost): Omit<Meter, 'category'> => ({ cost: fixed(cost), settle: null })),
    section(
      { cost: price('What the request costs, as in a rule. Default 1').optional(), settle: settle.optional() },
      'A category with a cost of its own',
    ).transform(({ cost = fixed(1), settle = null }): Omit<Meter, 'category'> => ({ cost, settle })),
  ]).describe('The tokens, or a cost with the way in which the response corrects it'),
  'a map of categories to what they are charged, like { requests: 1, tokens: 2000 }',
)
  .refine(({ size }) => size > 0 && size <= MOST_METERS, {
    error: `names no category, or more than four: name 1 to ${MOST_METERS}`,
  })
  .transform((all): readonly [Meter, ...Meter[]] => {
    const [first, ...others] = [...all].map(([category, of]): Meter => ({ category, ...of }))
    return [first as Meter, ...others]
  })
  .describe(
    'What a request costs in each of up to four categories, such as { requests: 1, tokens: 2000 }. It stands instead of category, cost and settle. The request is charged in all of these categories, or it is refused. The first category is the one under which the request is counted',
  )

const shadow = () =>
  flag()
    .default(false)
    .describe('Whether the quota only counts the requests of this rule and refuses none of them. Default false')

/** The values of `upstream` apply to rules without their own. */
const timeouts = () => ({
  response_timeout: duration('1ms', '24h')
    .optional()
    .describe(
      'How long the upstream may take to begin its response, for requests of this rule. After that the request gets 504. 1ms to 24h. Default the value of upstream.response_timeout',
    ),
  idle_timeout: duration('1ms', '24h')
    .optional()
    .describe(
      'How long a response may pause between two pieces of its body, for requests of this rule. After that it is broken off. 1ms to 24h. Default the value of upstream.idle_timeout',
    ),
})

const idempotency = section(
  {
    header: text({ what: 'the name of a header' })
      .refine((name) => repetitionHeaderProblem(name) === null, {
        error: ({ input }) => repetitionHeaderProblem(String(input)) ?? '',
      })
      .default('Idempotency-Key')
      .describe('The header in which clients send the key. Default Idempotency-Key'),
    for: or(duration('1s', '7d'), '24h').describe('How long after the charge a repetition is free'),
    replays: or(integer(1, 100), 5).describe('How many repetitions of one request are free'),
  },
  'Makes repetitions free. A client marks a request with a key. If the same user sends the same request (method, host, target, and a body of up to 64KiB) with this key again, it is forwarded without a charge. Use it only if the upstream recognises repetitions, too. Default each is charged',
).transform(({ header, for: forMs, replays }) => ({ header, forMs, replays }))

export const route = section(
  {
    match: read('methods and a path, like GET /v1/items/:id', parsePattern).describe(
      'The methods and the path of the requests, such as GET|POST /v1/items/:id. "*" stands for all methods. In the path, ":name" stands for one segment, and "*" at the end for any number of segments. A path has at most 64 segments',
    ),
    category: name
      .describe('The category in which a request is counted. It must be a category of quota.baselines')
      .optional(),
    cost: price(
      'What a request costs in tokens, 0 to 1000000000, or a price that depends on the content of the request. With 0 the request needs a credential and costs nothing. Default 1',
    ).optional(),
    charges: charges.optional(),
    public: or(flag(), false).describe('Whether requests of this rule need no credential and cost nothing'),
    health: flag()
      .optional()
      .describe(
        'Whether requests of this rule count when mode adaptive looks for failures. With true all of them count, even if they are public or free. With false none of them counts. Default those that are charged',
      ),
    anonymous: flag()
      .optional()
      .describe(
        'Whether callers without a credential may use this rule, each counted by its address. Default true if auth.anonymous is set, otherwise false',
      ),
    shadow: shadow(),
    tunnel_charge: duration('1s', '24h')
      .optional()
      .describe(
        'How often an open WebSocket is charged its cost again. If the quota refuses a charge, the WebSocket is closed. The cost must be a number of tokens. 1s to 24h. Default never',
      ),
    settle: settle.optional(),
    idempotency: idempotency.optional(),
    ...timeouts(),
  },
  'A rule. If several rules match a request, the most specific one applies, whatever their order',
).transform(
  (
    {
      match,
      health,
      shadow,
      tunnel_charge = null,
      idempotency = null,
      response_timeout = null,
      idle_timeout = null,
      ...access
    },
    context,
  ) => ({
    ...match,
    health: whichCount(health),
    shadow,
    tunnelChargeMs: tunnel_charge,
    idempotency,
    responseTimeoutMs: response_timeout,
    idleTimeoutMs: idle_timeout,
    ...accessOf(access, context),
  }),
)

/** Which requests of a rule count for the adaptive mode. */
function whichCount(health: boolean | undefined): 'always' | 'charged' | 'never' {
  if (health === undefined) return 'charged'
  return health ? 'always' : 'never'
}

interface WrittenMeters {
  readonly category?: string | undefined
  readonly cost?: Price | undefined
  readonly settle?: Meter['settle'] | undefined
  readonly charges?: readonly [Meter, ...Meter[]] | undefined
}

interface WrittenAccess extends WrittenMeters {
  readonly public: boolean
  readonly anonymous?: boolean | undefined
}

/** A public rule needs no credential and charges nothing. */
function accessOf({ public: isPublic, anonymous, ...meters }: WrittenAccess, context: z.RefinementCtx) {
  if (isPublic) return { public: true as const, settle: null }
  return { public: false as const, ...metersOf(meters, context), anonymous: anonymous ?? null }
}

/** The first meter of a rule, and the others. The file has them under `charges`, or has one meter as `category`, `cost` and `settle`. */
function metersOf(written: WrittenMeters, context: z.RefinementCtx) {
  const { category = '', cost = fixed(1), settle = null, charges } = written
  if (charges === undefined) return { category, cost, settle, others: null }
  for (const key of ['category', 'cost', 'settle'] as const) {
    if (written[key] === undefined) continue
    const message = 'stands beside charges, which say it for each category: write it there, or remove charges'
    context.addIssue({ code: 'custom', path: [key], message, input: written })
  }
  const [first, ...others] = charges
  return { ...first, others: others.length === 0 ? null : others }
}

export const routes = list(route, 0, 10_000).describe(
  'The rules, which say what each request costs. If several rules match a request, the most specific one applies, whatever their order. Default empty',
)

export const unmatched = either('refuse, forward, or { category, cost, shadow }', [
  choice(['refuse', 'forward'])
    .transform((kind): { kind: 'refuse' } | { kind: 'forward' } => ({ kind }))
    .describe('refuse responds with 404. forward forwards the request without a credential and without a charge'),
  section(
    {
      category: name
        .describe('The category in which a request is counted. It must be a category of quota.baselines')
        .optional(),
      cost: price('What the request costs, as in a rule. Default 1').optional(),
      settle: settle.optional(),
      charges: charges.optional(),
      shadow: shadow(),
      ...timeouts(),
    },
    'Charged',
  ).transform(({ shadow, response_timeout = null, idle_timeout = null, ...meters }, context) => {
    if (meters.category === undefined && meters.charges === undefined) {
      const message = 'has neither category nor charges: add category (and cost)'
      context.addIssue({ code: 'custom', message, input: meters })
    }
    return {
      kind: 'charge' as const,
      ...metersOf(meters, context),
      shadow,
      responseTimeoutMs: response_timeout,
      idleTimeoutMs: idle_timeout,
    }
  }),
]).describe(
  'What happens to requests that no rule matches. refuse responds with 404, forward forwards them without a credential and without a charge, and { category, cost, shadow } charges them as a rule does. Default refuse',
)
