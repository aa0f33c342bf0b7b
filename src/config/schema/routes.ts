import type { z } from 'zod'
import type { Price } from '../../inputs/price.ts'
import { repetitionHeaderProblem } from '../headers.ts'
import { parsePattern } from '../pattern.ts'
import { fixed, price } from './price.ts'
import { settle } from './settle.ts'
import { tokens } from './tokens.ts'
import { byName, choice, duration, either, flag, integer, list, name, read, section, text } from './values.ts'

/** The route map. */

/** Categories that one request is charged in. */
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
      'With a cost of its own',
    ).transform(({ cost = fixed(1), settle = null }): Omit<Meter, 'category'> => ({ cost, settle })),
  ]).describe('Tokens, or the cost and what settles it'),
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
    'Instead of category, cost and settle: what a request costs in each of up to four categories, of which the first counts the request. It is charged in all of them, or refused',
  )

const shadow = () =>
  flag()
    .default(false)
    .describe('Whether requests that the quota refuses are forwarded all the same, uncharged. Default false')

/** Those of `upstream` are for all rules that have none of their own. */
const timeouts = () => ({
  response_timeout: duration('1ms', '24h')
    .optional()
    .describe(
      'How long the upstream may take until the head of its response has come, for requests of this rule. 1ms to 24h. Default that of upstream',
    ),
  idle_timeout: duration('1ms', '24h')
    .optional()
    .describe(
      'How long a response may pause between two pieces of its body, for requests of this rule. 1ms to 24h. Default that of upstream',
    ),
})

const idempotency = section(
  {
    header: text({ what: 'the name of a header' })
      .refine((name) => repetitionHeaderProblem(name) === null, {
        error: ({ input }) => repetitionHeaderProblem(String(input)) ?? '',
      })
      .default('Idempotency-Key')
      .describe('The header that has the key of the request. Default Idempotency-Key'),
    for: duration('1s', '7d')
      .prefault('24h')
      .describe('How long after the charge a repetition costs nothing, 1s to 7d. Default 24h'),
    replays: integer(1, 100)
      .default(5)
      .describe('How many repetitions of one request cost nothing, 1 to 100. Default 5'),
  },
  'A request that comes again with the same key, user, method, host, target and body (up to 64KiB) is forwarded and not charged. Only where the upstream recognises repetitions. Default each is charged',
).transform(({ header, for: forMs, replays }) => ({ header, forMs, replays }))

export const route = section(
  {
    match: read('methods and a path, like GET /v1/items/:id', parsePattern).describe(
      'METHOD /path: methods joined by "|", or "*"; up to 64 segments: literal, ":name", or a last "*"',
    ),
    category: name.describe('The category whose limits a request is counted in, one of quota.baselines').optional(),
    cost: price(
      'Tokens, 0 to 1000000000, or by what the request asks for. Default 1; 0 authenticates and charges nothing',
    ).optional(),
    charges: charges.optional(),
    public: flag().default(false).describe('Whether the rule needs no credential and charges nothing. Default false'),
    health: flag()
      .optional()
      .describe(
        'Whether its requests count for mode adaptive: true, also those that are public or cost nothing; false, none. Default those that are charged',
      ),
    anonymous: flag()
      .optional()
      .describe(
        'Whether callers without a credential are let in, each as the user of its address. Default whether auth.anonymous is there',
      ),
    shadow: shadow(),
    tunnel_charge: duration('1s', '24h')
      .optional()
      .describe(
        'After so long a WebSocket costs again what it did, 1s to 24h; where the quota refuses that, it is closed. Only with a cost in tokens. Default never',
      ),
    settle: settle.optional(),
    idempotency: idempotency.optional(),
    ...timeouts(),
  },
  'A rule: the most specific one wins, whatever the order',
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

/** A public rule asks for no credential and charges nothing. */
function accessOf({ public: isPublic, anonymous, ...meters }: WrittenAccess, context: z.RefinementCtx) {
  if (isPublic) return { public: true as const, settle: null }
  return { public: false as const, ...metersOf(meters, context), anonymous: anonymous ?? null }
}

/** The first meter, with the others: they are written as `charges`, or as one alone. */
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
  'The rules that say what each request costs. The most specific rule that matches a request decides, whatever their order. Default empty',
)

export const unmatched = either('refuse, forward, or { category, cost, shadow }', [
  choice(['refuse', 'forward'])
    .transform((kind): { kind: 'refuse' } | { kind: 'forward' } => ({ kind }))
    .describe('refuse answers 404; forward asks for no credential and charges nothing'),
  section(
    {
      category: name.describe('The category whose limits a request is counted in, one of quota.baselines').optional(),
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
  'What becomes of requests that no rule matches: refuse (404), forward, or { category, cost, shadow } as in a rule. Default refuse',
)
