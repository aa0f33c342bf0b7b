import { z } from 'zod'
import { MAX_LIMIT, MODES, MULTIPLIER } from '../quota/policy.ts'
import type * as api from './api.ts'
import { reason } from './fields.ts'

/**
 * The schemas of the admin API: those of bodies and queries validate, those of answers are what the OpenAPI document
 * promises. Each says that it describes a type of `api.ts`.
 */

/** Those with a name of their own in the OpenAPI document. */
export const named = z.registry<{ id: string; description: string }>()

function name<T extends z.ZodType>(schema: T, id: string, description: string): T {
  named.add(schema, { id, description })
  return schema
}

const time = z.iso.datetime({ offset: true })
const count = z.int().min(0)
const mode = z.enum(MODES)
const multiplier = z.number().min(MULTIPLIER.min).max(MULTIPLIER.max)
const tokensToSet = z.int().min(0).max(MAX_LIMIT)
const scope = z.enum(['Personal', 'Global'])
const byName = <T extends z.ZodType>(value: T) => z.record(z.string(), value)

const table = name(byName(byName(count)), 'Table', 'Tokens by category, then by the name of the window.')
const scopedTable = name(z.strictObject({ personal: table, global: table }), 'ScopedTable', 'Tokens in both scopes.')

export const errorResponse = name(
  z.strictObject({
    error: z.string(),
    msg: z.string(),
    problems: z.array(z.strictObject({ path: z.string(), msg: z.string() })).exactOptional(),
    version: count.exactOptional(),
  }) satisfies z.ZodType<api.ErrorResponse>,
  'Error',
  'What is wrong, and the cure. `error` is a code that never changes its meaning; `problems` has one entry for each wrong field; `version` comes with `version_conflict`.',
)

export const live = name(z.strictObject({ live: z.boolean() }), 'Live', 'Whether the process is worth keeping.')
export const ready = name(
  z.strictObject({
    ready: z.boolean(),
    reasons: z.array(z.string()).optional(),
    degraded: z.array(z.string()).optional(),
  }),
  'Ready',
  'Whether traffic should come; `reasons` why not, `degraded` what is missing although it should.',
)
export const startup = z.strictObject({
  startup: z
    .enum(['1'])
    .optional()
    .meta({ description: 'For a startup probe: 200 as soon as requests are taken, also without the store' }),
})
export const drain = z.strictObject({
  state: z
    .enum(['on', 'off'], { error: 'must be on or off' })
    .optional()
    .meta({ description: 'What is wanted, however often it is said; without it the other than now' }),
})
export const draining = name(
  z.strictObject({ draining: z.boolean(), msg: z.string() }),
  'Draining',
  'Whether the gateway is out of service from now on, and how that ends.',
)

export const session = name(
  z.strictObject({
    name: z.string().nullable(),
    role: z.enum(['viewer', 'admin']).nullable(),
    expiresAt: time.nullable(),
  }) satisfies z.ZodType<api.SessionResponse>,
  'Session',
  'Whose admin token or session the request came with: all null for nobody. `expiresAt` is null for the token itself.',
)

const windowShape = {
  scope,
  window: z.string(),
  limit: count,
  used: count,
  remaining: count,
  startedAt: time.nullable(),
  resetAt: time.nullable(),
}
const window = name(
  z.strictObject(windowShape) satisfies z.ZodType<api.WindowResponse>,
  'Window',
  'One window as it stands; one that is not running has `used` 0 and no times.',
)
const layersShape = { source: z.string(), steps: z.array(z.string()) }
const limitShape = { ...windowShape, ...layersShape }
const limit = name(
  z.strictObject(limitShape) satisfies z.ZodType<api.LimitResponse>,
  'Limit',
  'A window, and how its limit came about.',
)

const settingsShape = {
  mode,
  global: z.strictObject({ enabled: z.boolean(), multiplier }),
  baselines: scopedTable,
  custom: scopedTable.nullable(),
  shadow: z.boolean(),
}
const settings = name(
  z.strictObject(settingsShape) satisfies z.ZodType<api.SettingsResponse>,
  'Settings',
  'The settings of the quota.',
)

const warnings = z.array(
  name(
    z.strictObject({
      scope,
      category: z.string(),
      window: z.string(),
      limit: count,
      cost: count,
      routes: z.array(z.string()),
      routeCount: count,
      msg: z.string(),
    }) satisfies z.ZodType<api.WarningResponse>,
    'Warning',
    'A limit that some request can never fit into: what it costs at the most, and the first 20 of the `routeCount` rules of such requests.',
  ),
)

const settingsInForceShape = {
  version: count,
  ...settingsShape,
  factor: z.number(),
  effective: scopedTable,
  file: settings,
  changed: z.array(z.string()),
  categories: z.array(z.string()),
  cheapest: byName(count),
  windowLengths: z.array(z.strictObject({ name: z.string(), seconds: z.int().min(1) })),
  warnings,
}

export const quota = name(
  z.strictObject({
    ...settingsInForceShape,
    adaptive: z.strictObject({
      factor: z.number(),
      requests: z.number().min(0),
      failed: z.number().min(0),
      share: z.number().min(0).max(1).nullable(),
      settled: z.number().min(0).max(1).nullable(),
      trust: z.number().min(0).max(1),
      minRequests: count,
      why: z.string(),
    }),
    windows: byName(z.array(window)),
  }) satisfies z.ZodType<api.QuotaResponse>,
  'Quota',
  'The settings in force and what became of them. `file` is what the file says, `changed` which values were changed at run time, `cheapest` the least that a request of a category costs which the quota may refuse, `warnings` limits that some request can never fit into.',
)

export const inForce = name(
  z.strictObject({
    ...settingsInForceShape,
    adaptive: z.strictObject({ factor: z.number() }),
    storeOutage: byName(z.number().min(0).max(1)),
  }) satisfies z.ZodType<api.InForceResponse>,
  'InForce',
  'The settings that this gateway enforces, as `Quota` has them, without what only the store knows. `storeOutage` is the share of the limits that is admitted while the store is out.',
)

export const requiredReason = name(z.strictObject({ reason }), 'Reason', 'Why a change is made.')
export const optionalReason = name(
  z.strictObject({ reason: reason.optional() }).nullish(),
  'OptionalReason',
  'Why a change is made. May be left out.',
)

const OF_ONE_USER = 'the windows of one user are emptied by POST /api/users/{id}/reset'
const SCOPES_TO_RESET: Readonly<Record<string, string>> = {
  personal: `must be "global": ${OF_ONE_USER}`,
  organisation: 'must be "global": there are no organisations yet',
}

/** Says what is meant by a scope whose windows cannot be emptied here. */
function scopeError(input: unknown): string {
  return (typeof input === 'string' && SCOPES_TO_RESET[input.toLowerCase()]) || 'must be "global"'
}

export const quotaResetBody = name(
  z.strictObject({
    scope: z.literal('global', { error: ({ input }) => scopeError(input) }).meta({ description: 'Whose windows' }),
    category: z.string({ error: 'must be the name of a category' }),
    window: z
      .string({ error: 'must be the name of a window' })
      .optional()
      .meta({ description: 'Its name. Default: all windows of the category' }),
    reason,
  }),
  'QuotaResetBody',
  'Which windows of all users together are to be emptied, and why.',
)
export const quotaReset = name(
  z.strictObject({ from: byName(count) }) satisfies z.ZodType<api.QuotaResetResponse>,
  'QuotaReset',
  'What was used in each of the windows until they were emptied, by name; a window that no category names any more by its length in seconds.',
)

const tablePatch = byName(byName(tokensToSet.nullable()).nullable())
const scopedPatch = z.strictObject({ personal: tablePatch.nullish(), global: tablePatch.nullish() })

export const quotaPatch = name(
  z.strictObject({
    mode: mode.nullish(),
    global: z.strictObject({ enabled: z.boolean().nullish(), multiplier: multiplier.nullish() }).nullish(),
    baselines: scopedPatch.nullish(),
    custom: scopedPatch.nullish(),
    shadow: z.boolean().nullish(),
    reason: reason.optional(),
  }),
  'QuotaPatch',
  'A JSON merge patch: what is missing stays, null gives a value back to the file.',
)

export const preview = name(
  z.strictObject({
    scanned: count,
    blockedCount: count,
    newlyBlockedCount: count,
    freedCount: count,
    blocked: z.array(
      z.strictObject({
        user: z.string(),
        category: z.string(),
        window: z.string(),
        limit: count,
        used: count,
        blockedNow: z.boolean(),
        resetAt: time.nullable(),
      }),
    ),
    windows: byName(
      z.array(
        z.strictObject({
          window: z.string(),
          used: count,
          limit: count,
          remaining: count,
          limitNow: count.nullable(),
          remainingNow: count.nullable(),
        }),
      ),
    ),
    effective: scopedTable,
    warnings,
  }) satisfies z.ZodType<api.PreviewResponse>,
  'Preview',
  'Who would be blocked under a change, from even the cheapest request of a category, and the room left in the global windows (`limitNow` and `remainingNow` are null where these are switched off now). `blocked` has the first 100.',
)

export const overrideBody = name(
  z
    .object({
      bypassGlobal: z.boolean().nullish(),
      shadow: z.boolean().nullish(),
      reason,
      expiresAt: time.nullish(),
    })
    .catchall(byName(tokensToSet.nullable()).nullable()),
  'OverrideBody',
  'Limits by category and window beside the other fields: `{ "read": { "1h": 500 }, "reason": "a big event" }`. A missing value, or null, follows the default.',
)

const overrideShape = {
  version: count,
  limits: table,
  bypassGlobal: z.boolean(),
  shadow: z.boolean(),
  reason: z.string(),
  expiresAt: time.nullable(),
}

export const override = name(
  z.strictObject(overrideShape) satisfies z.ZodType<api.OverrideResponse>,
  'Override',
  'What was set for one user.',
)

export const overrideSet = name(
  z.strictObject({ ...overrideShape, warnings }) satisfies z.ZodType<api.OverrideSetResponse>,
  'OverrideSet',
  'What was set for one user; `warnings` has those of its limits that some request can never fit into.',
)

export const users = name(
  z.strictObject({
    users: z.array(
      z.strictObject({
        user: z.string(),
        windows: byName(z.array(window)),
        override: override.nullable(),
        blocked: z.boolean(),
      }),
    ),
    next: z.string().nullable(),
  }) satisfies z.ZodType<api.UsersResponse>,
  'Users',
  'A page of users: those with an override first. `blocked` says that a personal window has no room for the cheapest request of its category, also where shadow mode refuses nothing. `next` is the cursor of the next page; a page may be short, also empty, and not the last.',
)

export const user = name(
  z.strictObject({
    user: z.string(),
    windows: byName(z.array(limit)),
    override: override.nullable(),
  }) satisfies z.ZodType<api.UserResponse>,
  'User',
  'The windows of a user by category, Personal first, with the layers of each limit.',
)

export const overridesInForce = name(
  z.strictObject({
    users: z.array(z.strictObject({ user: z.string(), override })),
    total: count,
  }) satisfies z.ZodType<api.OverridesInForceResponse>,
  'OverridesInForce',
  'The first users with an override that this gateway enforces, in the order of their ids; `total` is how many match.',
)

export const userInForce = name(
  z.strictObject({
    user: z.string(),
    limits: byName(
      z.array(
        name(
          z.strictObject({
            scope,
            window: z.string(),
            limit: count,
            ...layersShape,
          }) satisfies z.ZodType<api.LimitInForceResponse>,
          'LimitInForce',
          'A limit in force, and how it came about.',
        ),
      ),
    ),
    override: override.nullable(),
  }) satisfies z.ZodType<api.UserInForceResponse>,
  'UserInForce',
  'The limits of a user that this gateway enforces, by category, Personal first, with the layers of each.',
)

const reasonCode = z.enum([
  'method_not_accepted',
  'target_too_long',
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
  'query_unescaped',
  'body_too_large',
  'priced_in_query',
  'no_route',
  'method_not_allowed',
  'own_path',
  'own_options',
  'reference_page',
  'public_route',
  'unmatched_forwarded',
  'costs_nothing',
  'value_unknown',
  'depends_on_body',
  'room',
  'room_global_off',
  'room_bypass',
  'refused',
  'would_be_refused',
  'never_fits',
  'would_never_fit',
  'costs',
  'costs_at_least',
  'shadow_gateway',
  'shadow_route',
  'shadow_user',
]) satisfies z.ZodType<api.ReasonCode>

export const explain = name(
  z.strictObject({
    user: z.string(),
    method: z.string(),
    path: z.string(),
    route: z.strictObject({ match: z.string(), line: z.int().min(1).nullable() }).nullable(),
    category: z.string().nullable(),
    cost: count.nullable(),
    costs: byName(count).nullable(),
    decision: z.enum(['accept', 'refuse', 'shadow', 'not_charged', 'no_route', 'depends_on_body', 'bad_request']),
    why: z.string(),
    reasons: z.array(z.strictObject({ code: reasonCode, values: byName(z.union([z.string(), z.number()])) })).min(1),
    limits: z.array(z.strictObject({ ...limitShape, refuses: z.boolean() })),
  }) satisfies z.ZodType<api.ExplainResponse>,
  'Explain',
  'What would become of a request now, and why: `why` in English sentences, `reasons` the same by codes with values, which never change their meaning.',
)

const counts = z.strictObject({
  requests: count,
  refused: count,
  shadowed: count,
  tokens: count,
  forwarded: count,
  failed: count,
  inFlight: count,
})

export const now = name(
  z.strictObject({
    at: time,
    counts: counts.nullable(),
    replicas: z
      .array(
        z.strictObject({
          instance: z.string(),
          host: z.string(),
          pid: count,
          version: z.string(),
          hash: z.string(),
          controlVersion: count,
          startedAt: time,
          silentMs: z.number().min(0),
          ready: z.boolean(),
          reasons: z.array(z.string()),
          configProblems: z.array(z.string()),
          counts,
        }),
      )
      .nullable(),
    agree: z.boolean().nullable(),
    store: z.strictObject({ kind: z.enum(['sqlite', 'redis']), answers: z.boolean() }),
    storeOutage: byName(z.number().min(0).max(1)),
    backend: z.strictObject({
      origin: z.string(),
      requests: count.nullable(),
      status0: count.nullable(),
      status5xx: count.nullable(),
    }),
    config: z.strictObject({ file: z.string(), hash: z.string() }),
    controlVersion: count,
    windows: byName(z.array(window)).nullable(),
    shadow: z.boolean(),
  }) satisfies z.ZodType<api.NowResponse>,
  'Now',
  'The replicas, their sums, the store, the backend and the global windows. While the store is out (it does not answer, is full, or takes no writes), replicas and counts are the last that were seen; null is what is not known.',
)

export const failures = name(
  z.strictObject({
    since: time,
    until: time,
    bucketMinutes: z.int(),
    buckets: z.array(z.strictObject({ start: time, total: count, status0: count, status5xx: count })),
  }) satisfies z.ZodType<api.FailuresResponse>,
  'Failures',
  'Forwarded requests of the last 7 days by half-hour, oldest first; the last one is still being counted.',
)

const tokenShape = {
  id: z.string(),
  user: z.string(),
  name: z.string(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
}
const token = name(
  z.strictObject(tokenShape) satisfies z.ZodType<api.TokenResponse>,
  'Token',
  'A gateway token, without itself.',
)
export const tokens = name(
  z.strictObject({ tokens: z.array(token) }) satisfies z.ZodType<api.TokensResponse>,
  'Tokens',
  'All gateway tokens, newest first, revoked and expired ones too.',
)
export const madeToken = name(
  z.strictObject({ ...tokenShape, token: z.string() }) satisfies z.ZodType<api.NewTokenResponse>,
  'MadeToken',
  'A gateway token with itself: it is shown this once.',
)

export const routes = name(
  z.strictObject({
    file: z.string(),
    routes: z.array(
      z.strictObject({
        match: z.string(),
        line: z.int(),
        public: z.boolean(),
        category: z.string().nullable(),
        cost: count.nullable(),
        costs: byName(count).nullable(),
        health: z.boolean(),
        shadow: z.boolean(),
        hits: count,
      }),
    ),
    unmatched: z.strictObject({
      kind: z.enum(['refuse', 'forward', 'charge']),
      hits: count,
      latest: z.array(z.string()),
    }),
  }) satisfies z.ZodType<api.RoutesResponse>,
  'Routes',
  'The route map in the order of the file, with the requests that each rule got since its replicas started.',
)

export const audit = name(
  z.strictObject({
    entries: z.array(
      z.strictObject({
        version: z.int().min(1),
        at: time,
        who: z.string(),
        what: z.enum(['settings', 'override', 'reset', 'quota_reset', 'token_created', 'token_revoked']),
        subject: z.string().nullable(),
        from: z.unknown(),
        to: z.unknown(),
        why: z.string().nullable(),
      }),
    ),
    next: z.int().nullable(),
    forgotten: count,
  }) satisfies z.ZodType<api.AuditResponse>,
  'Audit',
  'Changes at run time, newest first. `next` is the value of `before` for the page after this one; `forgotten` is how many entries the audit has forgotten, ever.',
)
