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
import { byName, choice, duration, either, flag, integer, list, or, read, section, text, wanted } from './values.ts'

/** Limits: windows, baselines, plans, and what else decides how much may be used. */

const soft = section(
  {
    limit: integer(1, MAX_LIMIT).describe(`Tokens, 1 to ${MAX_LIMIT}`),
    over: integer(1, MAX_LIMIT).describe(
      `Tokens that may be spent beyond the limit before the gateway refuses. The responses then have X-Tollgate-Quota-State: over. 1 to ${MAX_LIMIT}`,
    ),
  },
  'A limit beyond which some more tokens may be spent, so that users are warned before they are refused',
)

const limit = either(`an integer from 0 to ${MAX_LIMIT}, { limit: 1000, over: 200 }, or ${NO_LIMIT}`, [
  integer(0, MAX_LIMIT).describe(`Tokens, 0 to ${MAX_LIMIT}`),
  soft,
  choice([NO_LIMIT])
    .transform((): LimitValue => NO_LIMIT)
    .describe('No limit in this window'),
  z.null().transform((): LimitValue => NO_LIMIT),
]).describe(
  `The limit in tokens, for example 1000. { limit: 1000, over: 200 } lets 200 more tokens pass beyond it. ${NO_LIMIT} (or null) means that the window has no limit`,
)

const limitsOfWindows = byName(limit, 'limits by window, like { 1h: 120, 1d: 1200 }').describe(
  'The limit of each window, by name of the window',
)

const limits = (description: string) =>
  byName(limitsOfWindows, 'limits by category and window, like { read: { 1h: 120, 1d: 1200 } }').describe(description)

type Written = ReadonlyMap<string, ReadonlyMap<string, LimitValue>>

/** Parts written limits into `limits` and, if any of them is soft, `over`: the tokens that may pass beyond each soft limit. */
function parted<S extends string>(scopes: Readonly<Record<S, Written>>) {
  const tables = Object.entries<Written>(scopes).map(([scope, table]) => ({ scope, ...tablesOf(table) }))
  const each = (table: 'limits' | 'over') =>
    Object.fromEntries(tables.map(({ scope, [table]: of }) => [scope, of])) as Record<S, LimitTable>
  return { ...each('limits'), ...(tables.some(({ over }) => over.size > 0) && { over: each('over') }) }
}

/** The baselines without windows that have no limit. The file names such a window only to make it known. */
function limitedOnly(baselines: ScopedLimits): ScopedLimits {
  const limited = (table: LimitTable): LimitTable =>
    new Map(
      [...table].map(([category, row]) => [category, new Map([...row].filter(([, limit]) => limit !== UNLIMITED))]),
    )
  return { ...baselines, personal: limited(baselines.personal), global: limited(baselines.global) }
}

/** This is a function, so that each place in the schema has its own description. */
const scopes = (description: string) =>
  section(
    {
      personal: limits('Limits of each single user, by category and window, such as { read: { 1h: 120 } }'),
      global: limits('Limits that all users together share, by category and window. Default none').prefault({}),
    },
    description,
  ).transform((scopes) => parted(scopes))

/** The baselines of a file without any. */
export const BASELINES = {
  personal: { read: { '1h': 120, '5h': 400, '1d': 1200 }, write: { '1h': 60, '5h': 200, '1d': 600 } },
  global: { read: { '1h': 12_000, '5h': 40_000, '1d': 120_000 }, write: { '1h': 6000, '5h': 20_000, '1d': 60_000 } },
}

const allowance = section(
  {
    allow: read('a percentage like 10%', parsePercentage, PERCENTAGE.source).describe(
      'The part of each limit that may be spent while the store cannot be reached',
    ),
  },
  'Lets a part of each limit pass, which each gateway counts by itself',
).transform(({ allow }) => allow)

export const MAX_WINDOW = '3650d'
export const MIN_WINDOW = '1s'

const periodDay = (description: string) => integer(PERIOD_DAY.min, PERIOD_DAY.max).describe(description)

const calendar = section(
  {
    calendar: choice(CALENDAR_UNITS).describe('The period of the calendar. A week begins on Monday'),
    zone: read('a time zone like Asia/Shanghai', parseTimeZone).describe(
      'The time zone at whose midnight the periods begin, by its IANA name such as Europe/Berlin',
    ),
    day: periodDay(
      'The day on which a month begins, for example a billing day. 1 to 31, and in a shorter month the last day of the month. Default 1',
    ).optional(),
  },
  'A window that lasts for one period of the calendar, such as a month',
)
  .superRefine(({ calendar, day }, context) => {
    if (day === undefined || calendar === 'month') return
    const message = `is for calendar: month alone: remove it, or write calendar: month`
    context.addIssue({ code: 'custom', path: ['day'], message })
  })
  .transform(({ calendar, zone, day }) => ({ unit: calendar, zone, ...(day !== undefined && day !== 1 && { day }) }))

const A_CALENDAR = 'a calendar like { calendar: month, zone: Asia/Shanghai }'

/** Somebody who writes `month` or `1mo` means a calendar, so the problem of a wrong length shows how to write one. */
function parseLength(text: string): Reading<number> {
  const reading = parseDuration(text)
  return 'value' in reading ? reading : { problem: `${reading.problem}, or ${A_CALENDAR}` }
}

const windowLength = either(`a length like 1h, or ${A_CALENDAR}`, [
  duration(MIN_WINDOW, MAX_WINDOW, parseLength).describe('Length in whole seconds, 1s to 3650d'),
  calendar,
]).describe(
  'The length of the window, such as 1h, or a period of the calendar, such as { calendar: month, zone: Asia/Shanghai }',
)

const factor = (min: number, max: number, description: string) => {
  const error = ({ input }: { input?: unknown }) => wanted(`a number from ${min} to ${max}`, input)
  return z.number({ error }).min(min, { error }).max(max, { error }).describe(description)
}

const { min, max } = MULTIPLIER
const multiplier = factor(
  min,
  max,
  `The number by which the global limits are multiplied, for example 2 to double them all. ${min} to ${max}. Default 1`,
)

const share = (description: string) =>
  read('a percentage like 1%', parsePercentage, PERCENTAGE.source).describe(description)

const adaptive = domain(
  section(
    {
      min: factor(
        0.1,
        1,
        'The lowest factor, by which limits are multiplied while many requests fail. 0.1 to 1. Default 0.75',
      ).default(0.75),
      max: factor(
        1,
        4,
        'The highest factor, by which limits are multiplied while hardly any request fails. 1 to 4. Default 1.5',
      ).default(1.5),
      good: share('Up to this share of failed requests the factor is max, above 0% to 100%. Default 0.1%').prefault(
        '0.1%',
      ),
      normal: share('At this share of failed requests the factor is 1, above 0% to 100%. Default 1%').prefault('1%'),
      bad: share('From this share of failed requests on the factor is min, above 0% to 100%. Default 5%').prefault(
        '5%',
      ),
      min_requests: or(integer(1, 1_000_000_000), 100).describe(
        'How many requests must be forwarded in 30 minutes before the factor changes. With this number or fewer the factor is 1, because a share of so few says little. From twice this number on, the factor follows the share fully',
      ),
    },
    'How mode adaptive computes its factor from the share of requests of the last 30 minutes that failed or got 5xx',
  ),
  {},
)

/** The largest `share`. With a larger one, hardly any new user could ever become known. */
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
        'The part of each global limit that only known users may use. With 20% and a global limit of 1,000, new users can use 800, above 0% to 90%',
      ),
      known_after: or(duration('1s', '365d'), '1d').describe(
        'How long after the first charge a user becomes a known user',
      ),
      remember: or(duration('1m', '3650d'), '30d').describe(
        'How long a user stays known after the last charge. It must be longer than known_after',
      ),
    },
    'Keeps a part of the global limits for known users, so that many new or made-up users cannot use up everything. A user is known some time after the first charge, or if the user has an override',
  ),
  { known_after: 'knownAfterMs', remember: 'rememberMs' },
)

const MAX_PLAN = 64

/** The name of a plan may come from a claim, so more characters are allowed than in other names. In metrics, `none` means no plan. */
const planName = text({ max: MAX_PLAN, what: 'the name of a plan', pattern: '^\\P{Cc}{1,64}$' })
  .regex(/^\P{Cc}*$/u, { error: 'has a control character: write the name of a plan without one' })
  .refine((name) => name !== 'none', {
    error: '"none" is what metrics call callers without a plan: choose another name',
  })
  .describe(`1 to ${MAX_PLAN} characters`)

const partly = (description: string) => limits(description).prefault({})

const plan = section(
  {
    personal: partly(
      'Limits of each user with this plan, by category and window. For windows that you leave out, the baselines apply',
    ),
    organisation: partly(
      'Limits that all users of one organisation share, by category and window. Windows that you leave out have no such limit',
    ),
    period_day: periodDay(
      'The day on which months begin for users and organisations with this plan, for example a billing day. 1 to 31, and in a shorter month the last day of the month. Default the day of the window',
    ).optional(),
  },
  'The limits of users with this plan',
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
      .describe('The ids of users who are never charged, such as a monitor, up to 1000. Default none'),
    addresses: list(
      read('an address or a network like 10.0.0.0/8', parseSubnet).describe('An address or a network'),
      0,
      1000,
    )
      .default([])
      .describe(
        'The addresses or networks of clients that are never charged, up to 1000. If a proxy in edge.trusted_proxies sent the request, the address that it names counts. Default none',
      ),
  },
  'Callers who are never charged. The gateway still identifies them, forwards their requests and counts these',
)

export const quota = section(
  {
    windows: byName(windowLength, 'lengths by name, like { hour: 1h }')
      .optional()
      .describe(
        'The windows in which tokens are counted, one to seven, each with a name and a length, such as { hour: 1h }. You need it only for names of your own and for calendar windows. Default: the names that you use under baselines, read as lengths (1h)',
      ),
    mode: or(choice(MODES), 'normal').describe(
      'Multiplies the baselines for all users at once: conservative by 0.75, normal by 1, and loose by 1.5. With adaptive, the share of failed requests decides the factor. With custom, the limits below custom apply instead',
    ),
    global: section(
      {
        enabled: or(flag(), true).describe('Whether the limits that all users share are enforced'),
        multiplier: multiplier.default(1),
      },
      'The limits that all users share',
    ).prefault({}),
    reserve: reserve.optional(),
    baselines: scopes(
      'The limits for users without a plan, first for each user (personal), then for all users together (global). If you leave it out, built-in limits for read and write apply',
    ).prefault(BASELINES),
    custom: scopes('The limits that apply in mode custom, written like baselines').optional(),
    plans: byName(plan, 'plans by name, like { pro: { personal: { read: { 1h: 600 } } } }', planName)
      .optional()
      .describe(
        'Plans with limits of their own, by name, such as free and pro. A credential or an override names the plan of a user. Default none',
      ),
    default_plan: planName
      .describe(
        'The plan of users whose credential names no plan, or a plan that is not below plans. Without it, the baselines apply to these users. Default none',
      )
      .optional(),
    exempt: exempt.optional(),
    adaptive: adaptive.prefault({}),
    shadow: or(flag(), false).describe(
      'Whether the quota only counts and refuses nobody. A request that it would refuse is forwarded without a charge, and its response has X-Tollgate-Shadow: would-refuse. Begin with true, to see who would be refused',
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
      .describe(
        'What happens to the requests of a category while the store cannot be reached. refuse responds with 503, and { allow: 10% } lets a part of each limit pass. Default refuse',
      ),
    refund: or(choice(['unreached', 'never']), 'unreached').describe(
      'Whether a request that certainly never reached the upstream gets its charge back. With never it stays charged',
    ),
    ratelimit_headers: or(flag(), true).describe(
      'Whether responses to accepted requests have the headers RateLimit and RateLimit-Policy, which say how much is left',
    ),
    legacy_fields: or(flag(), false).describe(
      'Whether responses also have the older headers X-RateLimit-Limit, -Remaining and -Reset (in seconds), for clients that read them. They describe the window with the least left. They are on each 429, and with ratelimit_headers on accepted responses, too',
    ),
    retry_after_max: duration('1s', MAX_WINDOW)
      .refine((ms) => ms % 1000 === 0, { error: 'is not a whole number of seconds: round it' })
      .optional()
      .describe(
        'The longest time that Retry-After of a 429 names, for clients that cannot handle long times. The body and X-Quota-Reset still name the true time. In whole seconds, 1s to 3650d. Default no bound',
      ),
  },
  'How much each user, each organisation and all users together may use',
).transform(
  ({ windows, mode, baselines, custom = null, global, reserve, shadow, adaptive, store_outage, refund, ...rest }) => {
    const { plans, default_plan: defaultPlan, exempt } = rest
    const categories = [...baselines.personal.keys()]
    return {
      mode,
      /** Shortest first, one to seven, all with different lengths. */
      windows: toWindows(windowsOf({ windows, baselines })),
      /** In the order of `baselines.personal`. */
      categories,
      baselines: limitedOnly(baselines),
      custom,
      global,
      // A missing key stays absent, so that the fingerprint is the same for a build that does not know it.
      ...(reserve !== undefined && { reserve }),
      ...(plans !== undefined && { plans }),
      ...(defaultPlan !== undefined && { defaultPlan }),
      ...(exempt !== undefined && { exempt }),
      shadow,
      adaptive,
      /** For every category the share of the limits, 0 to 1, to admit while the store is out; 0 refuses. */
      storeOutage: new Map(categories.map((category) => [category, store_outage.get(category) ?? 0])),
      refund,
      ratelimitHeaders: rest.ratelimit_headers,
      ...(rest.legacy_fields && { legacyFields: true as const }),
      ...(rest.retry_after_max !== undefined && { retryAfterMaxMs: rest.retry_after_max }),
    }
  },
)
