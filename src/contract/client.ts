import { z } from 'zod'
import { type ErrorCode, STATUS_OF } from '../errors.ts'
import type { FailureRate } from '../failures/failure-rate.ts'
import type { QuotaProblem } from '../quota/problem-body.ts'
import type { RefusalBody } from '../quota/refusal.ts'
import type { QuotaStatus, WindowStatus } from '../quota/status.ts'
import type { ShownPage } from '../usage/usage-text.ts'
import { usage } from './admin/usage.ts'
import { byName, count, grantStatus, planLimits, scope, share, table, time } from './admin/values.ts'
import { type Components, componentsOf, type Named } from './components.ts'
import { askedPrice, PRICE_TEXT } from './price.ts'
import { errorBody, violationOf } from './refusal.ts'
import { tied } from './tied.ts'

/** What clients get from the gateway itself. Components begin with Tollgate, because the service has others beside them. */

/** The names in one configuration, because a document only has the categories and windows of its gateway. */
export interface Names {
  readonly categories: readonly string[]
  readonly windows: readonly { readonly name: string }[]
}

/** Statuses of a missing route or method. No operation of a document has them, because its route and method exist. */
type OfOtherRequests = 404 | 405 | 501
export type OwnStatus = Exclude<(typeof STATUS_OF)[ErrorCode], OfOtherRequests>

export function codesOf(status: number): readonly ErrorCode[] {
  return (Object.keys(STATUS_OF) as ErrorCode[]).filter((code) => STATUS_OF[code] === status)
}

const inFlight = errorBody.extend({ error: z.literal('too_many_in_flight') })

const problem = tied<QuotaProblem>()(
  z.strictObject({
    type: z.literal('https://iana.org/assignments/http-problem-types#quota-exceeded'),
    title: z.string(),
    status: z.literal(429),
    detail: z.string(),
    'violated-policies': z.array(z.string()),
  }),
)

function refusalOf({ categories, windows }: Names) {
  const quota = violationOf(z.enum(categories), z.enum(windows.map(({ name }) => name)))
  return tied<RefusalBody>()(
    z.strictObject({ error: z.literal('quota_exceeded'), msg: z.string(), retryAfterSeconds: z.int().min(1), quota }),
  )
}

function windowOf({ windows }: Names) {
  return tied<WindowStatus>()(
    z.strictObject({
      scope,
      window: z.enum(windows.map(({ name }) => name)),
      limit: count,
      over: count.optional(),
      used: count,
      remaining: count,
      startedAt: time.nullable(),
      resetAt: time.nullable(),
    }),
  )
}

function statusOf({ categories }: Names, window: ReturnType<typeof windowOf>) {
  const windows = z.strictObject(Object.fromEntries(categories.map((name) => [name, z.array(window)])))
  return tied<QuotaStatus>()(
    z.strictObject({
      plan: z.string().nullable().optional(),
      exempt: z.literal(true).optional(),
      windows,
      grants: z.array(grantStatus).optional(),
    }),
  )
}

const grantOfUsage = grantStatus.extend({ tokens: count.describe('Tokens that were given.') })

/** The usage of a caller. Its grants are those from which something was taken. */
const ownUsage = tied<ShownPage & Pick<QuotaStatus, 'grants'>>()(
  usage.omit({ knownSince: true }).extend({ grants: z.array(grantOfUsage).optional() }),
)

const rates = {
  ...{ calls: count, codeZero: count, businessFail: count, serverError: count, clientError: count },
  ...{ successRate: share, failureRate: share },
}

const failureRate = tied<FailureRate>()(
  z.strictObject({
    scope: z.literal('global'),
    days: z.number(),
    bucketMinutes: z.number(),
    since: z.string(),
    until: z.string(),
    definitions: byName(z.string()),
    series: z.array(z.strictObject({ ts: time, bucketUnix: z.int(), ...rates })),
    summary: z.strictObject(rates),
  }),
)

const publicPrice = z.strictObject({ public: z.literal(true) })
const meterPrice = z.strictObject({
  category: z.string(),
  cost: z.union([count, askedPrice]),
  settle: z
    .strictObject({
      max: count.describe(
        'The most that the response may make of it, in tokens. Of a cost with several values it is that of the dearest.',
      ),
    })
    .optional(),
})
const chargedPrice = z.strictObject({
  public: z.literal(false),
  ...meterPrice.shape,
  others: z.array(meterPrice).optional(),
  tunnelCharge: z.strictObject({ seconds: z.number() }).optional(),
  idempotency: z.strictObject({ header: z.string(), seconds: z.number(), replays: count }).optional(),
})
const ofRoute = { methods: z.array(z.string()), path: z.string() }

const priceList = z.strictObject({
  categories: z.array(z.string()),
  windows: z.array(
    z.union([
      z.strictObject({ name: z.string(), seconds: z.int().min(1) }),
      z.strictObject({ name: z.string(), calendar: z.string(), zone: z.string(), day: z.int().optional() }),
    ]),
  ),
  limits: table,
  plans: byName(planLimits),
  periodDays: byName(z.int().min(1).max(31)).optional(),
  defaultPlan: z.string().nullable(),
  routes: z.array(z.union([publicPrice.extend(ofRoute), chargedPrice.extend(ofRoute)])),
  others: z.union([publicPrice, chargedPrice]).nullable(),
})

export type PriceListBody = z.output<typeof priceList>

const SCHEMAS = {
  TollgateError: [errorBody, 'A refusal of the gateway.'],
  TollgateTooManyInFlight: [inFlight, 'Too many requests of the caller are under way.'],
  TollgateInFlightProblem: [problem.extend(inFlight.shape), 'The same for who accepts problems of RFC 9457.'],
  TollgateUsage: [ownUsage, 'What the caller used in a range of time.'],
  TollgateFailureRate: [failureRate, 'How many requests failed, by half hour.'],
  TollgateAskedPrice: [askedPrice, PRICE_TEXT],
  TollgatePriceList: [priceList, 'What each route costs, and the limits in force.'],
  TollgateTable: [table, 'Tokens by category, then by the name of the window.'],
  TollgatePlanLimits: [planLimits, 'Tokens of a plan, of each user and of all users of an organisation together.'],
} as const

/** The components in the document of one gateway. */
export function clientComponents(names: Names): Components {
  const [refusal, window] = [refusalOf(names), windowOf(names)]
  const all = {
    ...SCHEMAS,
    TollgateQuotaExceeded: [refusal, 'The quota refuses this request.'],
    TollgateQuotaProblem: [problem.extend(refusal.shape), 'The same for who accepts problems of RFC 9457.'],
    TollgateQuotaStatus: [statusOf(names, window), 'What the caller has of each window.'],
    TollgateWindow: [window, 'A window as it stands.'],
  } as const
  const named: Named = z.registry()
  for (const [id, [schema, description]] of Object.entries(all)) named.add(schema, { id, description })
  return componentsOf(named)
}
