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

/** The categories stand beside these fields. */
const factor = z.number().min(0).max(100)
const periodDay = z.int().min(1).max(31)

export const overrideFields = z.object({
  factor: factor.nullish().describe('Multiplies the personal limits. Alone, it multiplies whatever lies under it'),
  periodDay: periodDay
    .nullish()
    .describe('Day with which the months of the user begin, whatever the credential and the plan say'),
  plan: z.string().nullish().describe('One of quota.plans, instead of what the credential says'),
  within: z
    .string()
    .nullish()
    .describe('An organisation: it holds for requests whose credential names it, and only lowers limits'),
  bypassGlobal: z.boolean().nullish(),
  shadow: z.boolean().nullish(),
  reason,
  expiresAt: time.nullish(),
})

/** By what the user's credential named last. Only with `quota.plans`. */
const plan = planInForce.optional()
const organisation = z.string().optional()

export const overrideBody = name(
  overrideFields.catchall(overrideRow),
  'OverrideBody',
  'Limits by category and window beside the other fields: `{ "read": { "1h": 500 }, "reason": "a big event" }`. A missing value, or null, follows the default; `{ "limit": 500, "over": 50 }` lets 50 tokens pass beyond it, and `unlimited` leaves a window without a limit.',
)

export const override = name(
  z.strictObject({
    /** For If-Match; the ETag of the user. */
    version: count,
    limits: limitTable,
    /** Of all that lie above each other. */ factor: z.number().min(0).optional(),
    periodDay: periodDay.optional(),
    plan: z.string().optional(),
    within: z.string().optional(),
    bypassGlobal: z.boolean(),
    shadow: z.boolean(),
    reason: z.string(),
    expiresAt: time.nullable(),
    /** The newest first, with the one in force. Only if there is more than that. */
    layers: z.array(layer).optional(),
  }),
  'Override',
  'What was set for one user, as it is in force. `plan` is there if it was set; `layers` if something comes back, or goes, at an end.',
)

export const overrideSet = name(
  override.extend({ /** Whether nothing is charged to the user. */ exempt: z.boolean(), unseen, warnings, ends }),
  'OverrideSet',
  'What was set for one user. With `exempt` no limit holds, a block neither: the file exempts the user (`quota.exempt`), and nothing is charged. Else `warnings` has those of its limits that some request can never fit into.',
)

export const organisationOverrideFields = z.object({
  factor: factor.nullish().describe('Multiplies the limits that the plan of each member has'),
  periodDay: periodDay
    .nullish()
    .describe('Day with which the months of the organisation begin, whatever credentials and plans say'),
  reason,
  expiresAt: time.nullish(),
})

export const organisationOverrideBody = name(
  organisationOverrideFields.catchall(overrideRow),
  'OrganisationOverrideBody',
  'Limits of an organisation by category and window beside the other fields. A missing value, or null, follows the plan; `{ "limit": 500, "over": 50 }` lets 50 tokens pass beyond it, and `unlimited` leaves a window without a limit.',
)

export const organisationOverride = name(
  override.omit({ plan: true, bypassGlobal: true, shadow: true }),
  'OrganisationOverride',
  'What was set for one organisation.',
)

export const organisationOverrideSet = name(
  organisationOverride.extend({ unseen, warnings, ends }),
  'OrganisationOverrideSet',
  'What was set for one organisation; `warnings` has those of its limits that some request can never fit into.',
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
  'A page of users: those with an override first, or in the order that was asked for, with `total` and `counts`. `standing` says whether the quota refuses the user now, and by which window; `blocked` is short for `refused`. `worst` is the personal window nearest to its limit, `forecast` the one that will be full first at the present pace. `next` is the cursor of the next page; without an order a page may be short, also empty, and not the last.',
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
    /** Missing while no grant pays. */
    grants: z.array(grantStatus).optional(),
    standing,
  }),
  'User',
  'The windows of a user by category, Personal first, with the layers of each limit. `standing` says whether the quota refuses the user now, and by which window. `organisation` is the one that the last credential named.',
)

export const overridesInForce = name(
  z.strictObject({ users: z.array(z.strictObject({ user: z.string(), override })), total: count }),
  'OverridesInForce',
  'The first users with an override that this gateway enforces, in the order of their ids; `total` is how many match.',
)

export const organisationOverridesInForce = name(
  z.strictObject({
    organisations: z.array(z.strictObject({ organisation: z.string(), override: organisationOverride })),
    total: count,
  }),
  'OrganisationOverridesInForce',
  'The first organisations with an override that this gateway enforces, in the order of their ids; `total` is how many match.',
)

export const limitInForce = name(
  z.strictObject({ ...window.pick({ scope: true, window: true, limit: true, over: true }).shape, ...layers.shape }),
  'LimitInForce',
  'A limit in force, and how it came about.',
)

export const userInForce = name(
  z.strictObject({
    user: z.string(),
    limits: byName(z.array(limitInForce)),
    /** Whether limits are left out that hang on the plan or the organisation of the user, which the credential names and only the store knows. */
    incomplete: z.literal(true).optional(),
    override: override.nullable(),
    /** Whether nothing is charged to the user, by `quota.exempt`. */ exempt: z.boolean(),
    /** Only with `quota.reserve`. */ known: z.boolean().nullable().optional(),
  }),
  'UserInForce',
  'The limits of a user that this gateway enforces, by category, Personal first, with the layers of each. With `quota.reserve`, `known` says whether the user may use the reserve; null if this process has not asked the store, and the limits shown are those of new users.',
)

/** One of the two is there. */
const whose = { user: z.string().optional(), organisation: z.string().optional() }

const fieldsOfLine = byName(z.unknown()).nullable()

export const overridesSet = name(
  z.strictObject({
    dryRun: z.boolean(),
    /** Of a dry run: what a run of the same would be refused for, and the cure. */
    refused: z.strictObject({ path: z.string(), msg: z.string() }).nullable(),
    merge: z.boolean(),
    /** For If-Match: number of the last change at run time. */
    version: count,
    /** Of all overrides. */
    total: count,
    added: count,
    changed: count,
    removed: count,
    unchanged: count,
    /** Ends of overrides that it adds and drops, of all that are changed. */
    endsAdded: count,
    endsDropped: count,
    /** The first of those that are added, changed or removed, as a line has them. */
    changes: z.array(z.strictObject({ ...whose, from: fieldsOfLine, to: fieldsOfLine, ends })),
    warnings: z.array(z.strictObject({ line: count, ...whose, ...warnings.element.shape })),
    warningCount: count,
    /** The first 100 lines whose end has passed. They count as none. */
    ended: z.array(z.strictObject({ line: count, ...whose, expiresAt: time })),
    endedCount: count,
    /** The first 100 lines that set something for a name which had nothing before, and of which nothing else is kept. */
    unseen: z.array(z.strictObject({ line: count, ...whose })),
    unseenCount: count,
  }),
  'OverridesSet',
  'What a file of overrides changes, or would change. `changes` has the first 20 at most; `warnings` the first 100 limits that some request can never fit into, `warningCount` how many lines have one; `ended` the lines whose end has passed, which count as none; `unseen` the first 100 new names that have never sent a request, so that they may be misspelt. `refused` has what a dry run would be refused for if it was none, and is null otherwise.',
)
