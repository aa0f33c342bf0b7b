import { z } from 'zod'
import { ends, layer } from './layers.ts'
import {
  fullness,
  layers,
  limit,
  listCounts,
  periodDay as periodDayInForce,
  planInForce,
  recentRange,
  recentUse,
  standing,
  window,
  windows,
} from './limits.ts'
import { warnings } from './settings.ts'
import { byName, count, grantStatus, limitTable, name, overrideRow, reason, time, unseen } from './values.ts'

/** Users: what they have used, and what was set for one of them. */

const factor = z.number().min(0).max(100)
const periodDay = z.int().min(1).max(31)

/** The fields of an override that stand beside its categories. */
export const overrideFields = z.object({
  factor: factor
    .nullish()
    .describe(
      'The number by which the personal limits are multiplied, for example 1.5. If an override has only a factor, it multiplies the limits below it',
    ),
  periodDay: periodDay
    .nullish()
    .describe('The day of the month on which the months of the user begin. It goes before the credential and the plan'),
  plan: z
    .string()
    .nullish()
    .describe('The plan of the user, one of quota.plans. It replaces the plan that the credential names'),
  within: z
    .string()
    .nullish()
    .describe(
      'Name of an organisation. The override then applies only to requests whose credential names it, and can only lower limits',
    ),
  bypassGlobal: z.boolean().nullish(),
  shadow: z.boolean().nullish(),
  reason,
  expiresAt: time.nullish(),
})

/** The plan in force, by what the user's credential last named. Only with `quota.plans`. */
const plan = planInForce.optional()
const organisation = z.string().optional()

export const overrideBody = name(
  overrideFields.catchall(overrideRow),
  'OverrideBody',
  'Limits by category and window, beside the other fields: `{ "read": { "1h": 500 }, "reason": "a big event" }`. A window that is missing or null gets its default. `{ "limit": 500, "over": 50 }` lets 50 tokens pass beyond the limit, and `unlimited` means that the window has no limit.',
)

export const override = name(
  z.strictObject({
    version: count,
    limits: limitTable,
    /** The product of the factors in force. */ factor: z.number().min(0).optional(),
    periodDay: periodDay.optional(),
    plan: z.string().optional(),
    within: z.string().optional(),
    bypassGlobal: z.boolean(),
    shadow: z.boolean(),
    reason: z.string(),
    expiresAt: time.nullable(),
    /** All layers, newest first, even the one in force. Only if there is more than one. */
    layers: z.array(layer).optional(),
  }),
  'Override',
  'The override of one user, as it is in force. `plan` is present if it was set, and `layers` if a value changes at an end.',
)

export const overrideSet = name(
  override.extend({ /** Whether nothing is charged to the user. */ exempt: z.boolean(), unseen, warnings, ends }),
  'OverrideSet',
  'The override of one user. With `exempt` the user is never charged (`quota.exempt` in the file), so that no limit applies, not even a block. Otherwise `warnings` lists limits that are lower than the cost of some request.',
)

export const organisationOverrideFields = z.object({
  factor: factor.nullish().describe('The number by which the organisation limits of each plan are multiplied'),
  periodDay: periodDay
    .nullish()
    .describe(
      'The day of the month on which the months of the organisation begin. It goes before credentials and plans',
    ),
  reason,
  expiresAt: time.nullish(),
})

export const organisationOverrideBody = name(
  organisationOverrideFields.catchall(overrideRow),
  'OrganisationOverrideBody',
  'Limits of an organisation by category and window, beside the other fields. For a window that is missing or null, the plan applies. `{ "limit": 500, "over": 50 }` lets 50 tokens pass beyond the limit, and `unlimited` means that the window has no limit.',
)

export const organisationOverride = name(
  override.omit({ plan: true, bypassGlobal: true, shadow: true }),
  'OrganisationOverride',
  'The override of one organisation.',
)

export const organisationOverrideSet = name(
  organisationOverride.extend({ unseen, warnings, ends }),
  'OrganisationOverrideSet',
  'The override of one organisation. `warnings` lists limits that are lower than the cost of some request.',
)

export const users = name(
  z.strictObject({
    users: z.array(
      z.strictObject({
        ...{ user: z.string(), plan, organisation, windows, override: override.nullable() },
        ...{ blocked: z.boolean(), standing, ...fullness },
        refused: count.optional(),
        recent: recentUse,
      }),
    ),
    recent: recentRange,
    ...listCounts,
    next: z.string().nullable(),
  }),
  'Users',
  'A page of users. Users with an override come first, unless you ask for an order. With an order there are also `total` and `counts`. `standing` says whether the quota refuses the user now and by which window, and `blocked` is true if it does. `worst` is the personal window that is nearest to its limit. `forecast` is the window that will be full first at the present pace. `next` is the cursor of the next page. Without an order a page may be short or even empty, and not be the last one.',
)

export const user = name(
  z.strictObject({
    user: z.string(),
    unseen,
    plan,
    organisation,
    periodDay: periodDayInForce,
    windows: byName(z.array(limit)),
    override: override.nullable(),
    /** Absent while no grant pays. */
    grants: z.array(grantStatus).optional(),
    standing,
  }),
  'User',
  'The windows of a user by category, beginning with Personal, with an explanation of each limit. `standing` says whether the quota refuses the user now and by which window. `organisation` is the organisation in the last credential.',
)

export const overridesInForce = name(
  z.strictObject({ users: z.array(z.strictObject({ user: z.string(), override })), total: count }),
  'OverridesInForce',
  'The first users with an override that this gateway enforces, in the order of their ids. `total` is the number of users that match.',
)

export const organisationOverridesInForce = name(
  z.strictObject({
    organisations: z.array(z.strictObject({ organisation: z.string(), override: organisationOverride })),
    total: count,
  }),
  'OrganisationOverridesInForce',
  'The first organisations with an override that this gateway enforces, in the order of their ids. `total` is the number of organisations that match.',
)

export const limitInForce = name(
  z.strictObject({ ...window.pick({ scope: true, window: true, limit: true, over: true }).shape, ...layers.shape }),
  'LimitInForce',
  'A limit in force, with an explanation.',
)

export const userInForce = name(
  z.strictObject({
    user: z.string(),
    limits: byName(z.array(limitInForce)),
    incomplete: z.literal(true).optional(),
    override: override.nullable(),
    /** Whether nothing is charged to the user, by `quota.exempt`. */ exempt: z.boolean(),
    /** Only with `quota.reserve`. */ known: z.boolean().nullable().optional(),
  }),
  'UserInForce',
  'The limits of a user that this gateway enforces, by category, beginning with Personal, with an explanation of each limit. With `quota.reserve`, `known` says whether the user may use the reserve. If `known` is null, this process has not asked the store, and the limits are those of new users.',
)

/** One of the two is present. */
const whose = { user: z.string().optional(), organisation: z.string().optional() }

const fieldsOfLine = byName(z.unknown()).nullable()

export const overridesSet = name(
  z.strictObject({
    dryRun: z.boolean(),
    refused: z.strictObject({ path: z.string(), msg: z.string() }).nullable(),
    merge: z.boolean(),
    version: count,
    total: count,
    added: count,
    changed: count,
    removed: count,
    unchanged: count,
    endsAdded: count,
    endsDropped: count,
    changes: z.array(z.strictObject({ ...whose, from: fieldsOfLine, to: fieldsOfLine, ends })),
    warnings: z.array(z.strictObject({ line: count, ...whose, ...warnings.element.shape })),
    warningCount: count,
    ended: z.array(z.strictObject({ line: count, ...whose, expiresAt: time })),
    endedCount: count,
    unseen: z.array(z.strictObject({ line: count, ...whose })),
    unseenCount: count,
  }),
  'OverridesSet',
  'What a file of overrides changes, or would change. `changes` has the first 20 changes. `warnings` has the first 100 limits that are lower than the cost of some request, and `warningCount` the number of lines with such a limit. `ended` has lines whose end has passed, which are ignored. `unseen` has the first 100 new names that have never sent a request, because they may be misspelt. `refused` says why the file would be refused without `dry_run`, and is null if it would be accepted.',
)
