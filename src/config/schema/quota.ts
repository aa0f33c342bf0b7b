import { z } from 'zod'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { CALENDAR_UNITS } from '../../quota/calendar.ts'
import { type LimitValue, NO_LIMIT, tablesOf } from '../../quota/limit-value.ts'
import { PERIOD_DAY } from '../../quota/period-days.ts'
import { type LimitTable, MAX_LIMIT, MODES, MULTIPLIER, type ScopedLimits, UNLIMITED } from '../../quota/policy.ts'
import { parseSubnet } from '../addresses.ts'
import { parseTimeZone } from '../time-zone.ts'
import { PERCENTAGE, parseDuration, parsePercentage, type Reading } from '../units.ts'
import { toWindows, windowsOf } from '../window-lengths.ts'
import { domain } from './domain.ts'
import { byName, choice, duration, either, flag, integer, list, read, section, text, wanted } from './values.ts'

/** Limits. */

const soft = section(
  {
    limit: integer(1, MAX_LIMIT).describe(`Tokens, 1 to ${MAX_LIMIT}`),
    over: integer(1, MAX_LIMIT).describe(
      `Tokens that pass beyond the limit, each response with X-Tollgate-Quota-State: over. 1 to ${MAX_LIMIT}`,
    ),
  },
  'A soft limit',
)

const limit = either(`an integer from 0 to ${MAX_LIMIT}, { limit: 1000, over: 200 }, or ${NO_LIMIT}`, [
  integer(0, MAX_LIMIT).describe(`Tokens, 0 to ${MAX_LIMIT}`),
  soft,
  choice([NO_LIMIT])
    .transform((): LimitValue => NO_LIMIT)
    .describe('No limit in this window'),
  z.null().transform((): LimitValue => NO_LIMIT),
]).describe(`Tokens, { limit: 1000, over: 200 } with tokens that pass beyond the limit, or ${NO_LIMIT} (or null)`)

const limitsOfWindows = byName(limit, 'limits by window, like { 1h: 120, 1d: 1200 }').describe('Limit of each window')

const limits = (description: string) =>
  byName(limitsOfWindows, 'limits by category and window, like { read: { 1h: 120, 1d: 1200 } }').describe(description)

type Written = ReadonlyMap<string, ReadonlyMap<string, LimitValue>>

/** The limits, and beside them what passes beyond some. */
function parted<S extends string>(scopes: Readonly<Record<S, Written>>) {
  const tables = Object.entries<Written>(scopes).map(([scope, table]) => ({ scope, ...tablesOf(table) }))
  const each = (table: 'limits' | 'over') =>
    Object.fromEntries(tables.map(({ scope, [table]: of }) => [scope, of])) as Record<S, LimitTable>
  return { ...each('limits'), ...(tables.some(({ over }) => over.size > 0) && { over: each('over') }) }
}

/** Without the windows that nothing limits, which the baselines have only named. */
function limitedOnly(baselines: ScopedLimits): ScopedLimits {
  const limited = (table: LimitTable): LimitTable =>
    new Map(
      [...table].map(([category, row]) => [category, new Map([...row].filter(([, limit]) => limit !== UNLIMITED))]),
    )
  return { ...baselines, personal: limited(baselines.personal), global: limited(baselines.global) }
}

/** Functions, so that each place in the schema has its own description. */
const scopes = (description: string) =>
  section(
    {
      personal: limits('Limits of each user, by category and window'),
      global: limits('Limits of all users together. Default none').prefault({}),
    },
    description,
  ).transform((scopes) => parted(scopes))

/** Of a file without baselines. */
export const BASELINES = {
  personal: { read: { '1h': 120, '5h': 400, '1d': 1200 }, write: { '1h': 60, '5h': 200, '1d': 600 } },
  global: { read: { '1h': 12_000, '5h': 40_000, '1d': 120_000 }, write: { '1h': 6000, '5h': 20_000, '1d': 60_000 } },
}

const allowance = section(
  {
    allow: read('a percentage like 10%', parsePercentage, PERCENTAGE.source).describe(
      'The part of each limit that may still be spent while the store is out',
    ),
  },
  'Admits a share of the limits, counted by each gateway for itself',
).transform(({ allow }) => allow)

export const MAX_WINDOW = '3650d'
export const MIN_WINDOW = '1s'

const periodDay = (description: string) => integer(PERIOD_DAY.min, PERIOD_DAY.max).describe(description)

const calendar = section(
  {
    calendar: choice(CALENDAR_UNITS).describe('Period of the calendar; a week begins on Monday'),
    zone: read('a time zone like Asia/Shanghai', parseTimeZone).describe(
      'IANA name of the time zone in which the periods begin',
    ),
    day: periodDay(
      'Day with which a month begins, such as the billing day, 1 to 31: the last day of a month that is shorter. Default 1',
    ).optional(),
  },
  'A window that runs from the beginning of a period of the calendar to that of the next',
)
  .superRefine(({ calendar, day }, context) => {
    if (day === undefined || calendar === 'month') return
    const message = `is for calendar: month alone: remove it, or write calendar: month`
    context.addIssue({ code: 'custom', path: ['day'], message })
  })
  .transform(({ calendar, zone, day }) => ({ unit: calendar, zone, ...(day !== undefined && day !== 1 && { day }) }))

const A_CALENDAR = 'a calendar like { calendar: month, zone: Asia/Shanghai }'

/** Whoever writes `month` or `1mo` means a calendar. */
function parseLength(text: string): Reading<number> {
  const reading = parseDuration(text)
  return 'value' in reading ? reading : { problem: `${reading.problem}, or ${A_CALENDAR}` }
}

const windowLength = either(`a length like 1h, or ${A_CALENDAR}`, [
  duration(MIN_WINDOW, MAX_WINDOW, parseLength).describe('Length in whole seconds, 1s to 3650d'),
  calendar,
]).describe('Length, or { calendar: month, zone: Asia/Shanghai }')

const factor = (min: number, max: number, description: string) => {
  const error = ({ input }: { input?: unknown }) => wanted(`a number from ${min} to ${max}`, input)
  return z.number({ error }).min(min, { error }).max(max, { error }).describe(description)
}

const { min, max } = MULTIPLIER
const multiplier = factor(min, max, `Factor on the global limits, ${min} to ${max}. Default 1`)

const share = (description: string) =>
  read('a percentage like 1%', parsePercentage, PERCENTAGE.source).describe(description)

const adaptive = domain(
  section(
    {
      min: factor(0.1, 1, 'The least factor on the limits, while many requests fail, 0.1 to 1. Default 0.75').default(
        0.75,
      ),
      max: factor(
        1,
        4,
        'The greatest factor on the limits, while hardly any request fails, 1 to 4. Default 1.5',
      ).default(1.5),
      good: share('Up to this share of failures the factor is max, above 0% to 100%. Default 0.1%').prefault('0.1%'),
      normal: share('At this share of failures the factor is 1, above 0% to 100%. Default 1%').prefault('1%'),
      bad: share('From this share of failures on the factor is min, above 0% to 100%. Default 5%').prefault('5%'),
      min_requests: integer(1, 1e9)
        .default(100)
        .describe(
          'With so many forwarded requests in 30 minutes or fewer the factor is 1; from twice as many on it follows the share. 1 to 1000000000. Default 100',
        ),
    },
    'How the factor of mode adaptive follows the share of failed forwards and 5xx of the last 30 minutes',
  ),
  {},
)

/** With more hardly a new user would ever get through to become known. */
const MOST_RESERVED = 0.9

function parseReserved(text: string): Reading<number> {
  const reading = parsePercentage(text)
  if ('value' in reading && reading.value <= MOST_RESERVED) return reading
  return { problem: 'is not a percentage above 0% and up to 90%: write one like 20%' }
}

const reserve = domain(
  section(
    {
      share: read('a percentage like 20%', parseReserved, PERCENTAGE.source).describe(
        'The part of each global limit that only known users may use, above 0% to 90%',
      ),
      known_after: duration('1s', '365d')
        .prefault('1d')
        .describe('How long ago the first charge of a known user lies at least, 1s to 365d. Default 1d'),
      remember: duration('1m', '3650d')
        .prefault('30d')
        .describe(
          'How long a user is remembered after his last charge, longer than known_after, 1m to 3650d. Default 30d',
        ),
    },
    'A part of the global limits for known users only: for all others they are lower by so much. Users with an override are known',
  ),
  { known_after: 'knownAfterMs', remember: 'rememberMs' },
)

const MAX_PLAN = 64

/** As claims name it, so it is freer than other names. It is a label of metrics, where `none` is no plan, and stands in lines of the log. */
const planName = text({ max: MAX_PLAN, what: 'the name of a plan', pattern: '^\\P{Cc}{1,64}$' })
  .regex(/^\P{Cc}*$/u, { error: 'has a control character: write the name of a plan without one' })
  .refine((name) => name !== 'none', {
    error: '"none" is what metrics call callers without a plan: choose another name',
  })
  .describe(`1 to ${MAX_PLAN} characters`)

const partly = (description: string) => limits(description).prefault({})

const plan = section(
  {
    personal: partly('Limits of each user, by category and window; what is left out follows the baselines'),
    organisation: partly(
      'Limits of all users of one organisation together, by category and window; what is left out has none',
    ),
    period_day: periodDay(
      'Day with which months begin for each of its users and organisations, 1 to 31: the last day of a month that is shorter. Default that of the window',
    ).optional(),
  },
  'The limits of callers with this plan',
).transform(({ period_day: periodDay, ...scopes }) => ({
  ...parted(scopes),
  ...(periodDay !== undefined && { periodDay }),
}))

const exempt = section(
  {
    users: list(
      text({ max: 256, what: 'a user id' })
        .refine(isUserId, {
          error: `is no user id: write ${USER_ID}`,
        })
        .describe(USER_ID),
      0,
      1000,
    )
      .default([])
      .describe('The ids of users who are never charged, up to 1000. Default none'),
    addresses: list(
      read('an address or a network like 10.0.0.0/8', parseSubnet).describe('An address or a network'),
      0,
      1000,
    )
      .default([])
      .describe(
        'Addresses or networks of clients, up to 1000; behind a peer of edge.trusted_proxies the address that it names counts. Default none',
      ),
  },
  'Callers who are identified, forwarded and counted, and never charged',
)

export const quota = section(
  {
    windows: byName(windowLength, 'lengths by name, like { hour: 1h }')
      .optional()
      .describe(
        'Names of the windows, one to seven, with their lengths or calendars. Default: the names used under baselines, which are lengths (1h)',
      ),
    mode: choice(MODES)
      .default('normal')
      .describe(
        'Factor on the baselines: 0.75, 1, 1.5, or by the error rate; custom takes the values under custom. Default normal',
      ),
    global: section(
      {
        enabled: flag().default(true).describe('Whether the limits of all users together are enforced. Default true'),
        multiplier: multiplier.default(1),
      },
      'The limits of all users together',
    ).prefault({}),
    reserve: reserve.optional(),
    baselines: scopes('Limits by scope, category and window: a category has the windows that it names').prefault(
      BASELINES,
    ),
    custom: scopes('The limits of mode custom, of the same shape as baselines').optional(),
    plans: byName(plan, 'plans by name, like { pro: { personal: { read: { 1h: 600 } } } }', planName)
      .optional()
      .describe('Limits of callers by the name of their plan. Default none'),
    default_plan: planName
      .describe(
        'The plan of callers who have none, or one that plans does not have. Default none: the baselines are their limits',
      )
      .optional(),
    exempt: exempt.optional(),
    adaptive: adaptive.prefault({}),
    shadow: flag()
      .default(false)
      .describe(
        'Whether requests that the quota refuses are forwarded all the same, uncharged, with X-Tollgate-Shadow: would-refuse. Default false',
      ),
    store_outage: byName(
      either('refuse, or a share like { allow: 10% }', [
        choice(['refuse'])
          .transform(() => 0)
          .describe('503'),
        allowance,
      ]).describe('refuse, or { allow: 10% }'),
      'refuse or a share by category, like { read: { allow: 10% } }',
    )
      .prefault({})
      .describe('What happens to each category while the store is out. Default refuse (503)'),
    refund: choice(['unreached', 'never'])
      .default('unreached')
      .describe(
        'Whether a charge is given back when the upstream certainly was never sent the request. Default unreached',
      ),
    ratelimit_headers: flag()
      .default(true)
      .describe('RateLimit and RateLimit-Policy on accepted responses. Default true'),
    legacy_fields: flag()
      .default(false)
      .describe(
        'X-RateLimit-Limit, -Remaining and -Reset (seconds) of the tightest window, on each 429 and, with ratelimit_headers, on accepted responses as well. Default false',
      ),
    retry_after_max: duration('1s', MAX_WINDOW)
      .refine((ms) => ms % 1000 === 0, { error: 'is not a whole number of seconds: round it' })
      .optional()
      .describe(
        'The longest that Retry-After of a 429 says, in whole seconds, 1s to 3650d; its body and X-Quota-Reset say the true time all the same. Default no bound',
      ),
  },
  'How much users, organisations and all users together may use',
).transform(
  ({ windows, mode, baselines, custom = null, global, reserve, shadow, adaptive, store_outage, refund, ...rest }) => {
    const { plans, default_plan: defaultPlan, exempt } = rest
    const categories = [...baselines.personal.keys()]
    return {
      mode,
      /** Shortest first, one to seven, all of different lengths. */
      windows: toWindows(windowsOf({ windows, baselines })),
      /** In the order of `baselines.personal`. */
      categories,
      baselines: limitedOnly(baselines),
      custom,
      global,
      // What is not configured is absent: a build that does not know the key has the same fingerprint then.
      ...(reserve !== undefined && { reserve }),
      ...(plans !== undefined && { plans }),
      ...(defaultPlan !== undefined && { defaultPlan }),
      ...(exempt !== undefined && { exempt }),
      shadow,
      adaptive,
      /** By category, each of them: the share of the limits, 0 to 1, to admit while the store is out; 0 refuses. */
      storeOutage: new Map(categories.map((category) => [category, store_outage.get(category) ?? 0])),
      refund,
      ratelimitHeaders: rest.ratelimit_headers,
      ...(rest.legacy_fields && { legacyFields: true as const }),
      ...(rest.retry_after_max !== undefined && { retryAfterMaxMs: rest.retry_after_max }),
    }
  },
)
