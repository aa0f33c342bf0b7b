import type { z } from 'zod'
import { repetitionHeaderProblem } from '../headers.ts'
import { parsePattern } from '../pattern.ts'
import { settle } from './settle.ts'
import { byValue, tokens } from './tokens.ts'
import { choice, duration, either, flag, integer, list, name, read, section, size, text } from './values.ts'

/** The route map. */

/** Whole tokens. */
const fixed = (cost: number) => ({ kind: 'fixed' as const, cost })

const field = text({ description: 'A field at the top level of a JSON body' }, { max: 128, what: 'a field name' })

const bodyCost = section(
  {
    body: either('a field name or a list of them', [field, list(field, 1, 20, { description: 'All its names' })], {
      description: 'Name of the field, or all the names under which the backend accepts it',
    }),
    values: byValue(
      tokens(),
      'Tokens for each value of the field: 2 is the number, in any spelling; \'"2"\' is the text. Any other value: 400, nothing charged, nothing forwarded',
    ),
    max_body: size('1B', '16MiB', { description: 'Largest body to read, 1B to 16MiB. Default 64KiB' }).prefault(
      '64KiB',
    ),
  },
  'The cost by a field of the body',
).transform(({ body, values, max_body }) => ({
  kind: 'body' as const,
  /** Names of the field at the top level of the body, at least one. */
  fields: [...new Set([body].flat())],
  /** Tokens by the key of the field's value (json-scalar.ts). */
  values,
  maxBody: max_body,
}))

const cost = (description: string) =>
  either('tokens (an integer from 0 to 1000000000) or { body, values }', [tokens().transform(fixed), bodyCost], {
    description,
  })

type Cost = z.output<ReturnType<typeof cost>>

const shadow = () =>
  flag({
    description: 'Whether requests that the quota refuses are forwarded all the same, uncharged. Default false',
  }).default(false)

/** Those of `upstream` are for all rules that have none of their own. */
const timeouts = () => ({
  response_timeout: duration('1ms', '24h', {
    description: 'Until the response head, 1ms to 24h. Default that of upstream',
  }).optional(),
  idle_timeout: duration('1ms', '24h', {
    description: 'Between body chunks, 1ms to 24h. Default that of upstream',
  }).optional(),
})

const idempotency = section(
  {
    header: text(
      { description: 'The header that has the key. Default Idempotency-Key' },
      { what: 'the name of a header' },
    )
      .refine((name) => repetitionHeaderProblem(name) === null, {
        error: ({ input }) => repetitionHeaderProblem(String(input)) ?? '',
      })
      .default('Idempotency-Key'),
    for: duration('1s', '7d', {
      description: 'How long after the charge a repetition costs nothing, 1s to 7d. Default 24h',
    }).prefault('24h'),
    replays: integer(1, 100, { description: 'How many repetitions cost nothing, 1 to 100. Default 5' }).default(5),
  },
  'A request that comes again with the same key, user, method, host, target and body (up to 64KiB) is forwarded and not charged. Only where the backend recognises repetitions. Default each is charged',
).transform(({ header, for: forMs, replays }) => ({ header, forMs, replays }))

export const route = section(
  {
    match: read('methods and a path, like GET /v1/items/:id', parsePattern, {
      description: 'METHOD /path: methods joined by "|", or "*"; up to 64 segments: literal, ":name", or a last "*"',
    }),
    category: name.meta({ description: 'A category of quota.baselines' }).optional(),
    cost: cost(
      'Tokens, 0 to 1000000000, or by a field of the body. Default 1; 0 authenticates and charges nothing',
    ).optional(),
    public: flag({ description: 'No credential, no charge. Default false' }).default(false),
    health: flag({
      description:
        'Whether its requests count for mode adaptive: true, also those that are public or cost nothing; false, none. Default those that are charged',
    }).optional(),
    anonymous: flag({
      description:
        'Whether callers without a credential are let in, each as the user of its address. Default whether auth.anonymous is there',
    }).optional(),
    shadow: shadow(),
    tunnel_charge: duration('1s', '24h', {
      description:
        'After so long a WebSocket costs again what it did, 1s to 24h; where the quota refuses that, it is closed. Only with a cost in tokens. Default never',
    }).optional(),
    settle: settle.optional(),
    idempotency: idempotency.optional(),
    ...timeouts(),
  },
  'A rule: the most specific one wins, whatever the order',
).transform(
  ({
    match,
    health,
    shadow,
    tunnel_charge = null,
    settle = null,
    idempotency = null,
    response_timeout = null,
    idle_timeout = null,
    ...access
  }) => ({
    ...match,
    health: whichCount(health),
    shadow,
    tunnelChargeMs: tunnel_charge,
    settle,
    idempotency,
    responseTimeoutMs: response_timeout,
    idleTimeoutMs: idle_timeout,
    ...accessOf(access),
  }),
)

/** Which requests of a rule count for the adaptive mode. */
function whichCount(health: boolean | undefined): 'always' | 'charged' | 'never' {
  if (health === undefined) return 'charged'
  return health ? 'always' : 'never'
}

interface WrittenAccess {
  readonly public: boolean
  readonly category?: string | undefined
  readonly cost?: Cost | undefined
  readonly anonymous?: boolean | undefined
}

/** A public rule asks for no credential and charges nothing. */
function accessOf({ public: isPublic, category = '', cost = fixed(1), anonymous }: WrittenAccess) {
  return isPublic ? { public: true as const } : { public: false as const, category, cost, anonymous: anonymous ?? null }
}

export const routes = list(route, 0, 10_000, { description: 'The route map. Default empty' })

export const unmatched = either(
  'refuse, forward, or { category, cost, shadow }',
  [
    choice(['refuse', 'forward'], {
      description: 'refuse answers 404; forward asks for no credential and charges nothing',
    }).transform((kind): { kind: 'refuse' } | { kind: 'forward' } => ({ kind })),
    section(
      {
        category: name.meta({ description: 'A category of quota.baselines' }),
        cost: cost('As in a rule. Default 1').optional(),
        shadow: shadow(),
        ...timeouts(),
      },
      'Charged',
    ).transform(({ category, cost = fixed(1), shadow, response_timeout = null, idle_timeout = null }) => ({
      kind: 'charge' as const,
      category,
      cost,
      shadow,
      responseTimeoutMs: response_timeout,
      idleTimeoutMs: idle_timeout,
    })),
  ],
  {
    description:
      'What becomes of requests that no rule matches: refuse (404), forward, or { category, cost, shadow }. Default refuse',
  },
)
