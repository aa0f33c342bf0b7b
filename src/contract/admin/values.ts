import { z } from 'zod'
import { reason as checkReason, REASON } from '../../control/problems.ts'
import { NO_LIMIT } from '../../quota/limit-value.ts'
import { MAX_LIMIT, MODES, MULTIPLIER } from '../../quota/policy.ts'
import { SCOPE_TITLES } from '../../quota/refusal.ts'

/** Parts of the schemas that several topics use. */

/** Schemas with a name in the OpenAPI document. */
export const named = z.registry<{ id: string; description: string }>()

export function name<T extends z.ZodType>(schema: T, id: string, description: string): T {
  named.add(schema, { id, description })
  return schema
}

/** ISO 8601 with an offset. Responses have UTC. */
export const time = z.iso.datetime({ offset: true })
export const count = z.int().min(0)
export const share = z.number().min(0).max(1)
export const mode = z.enum(MODES)
export const multiplier = z.number().min(MULTIPLIER.min).max(MULTIPLIER.max)
export const scope = z.enum(SCOPE_TITLES)
export const role = z.enum(['viewer', 'admin', 'lead'])
export const byName = <T extends z.ZodType>(value: T) => z.record(z.string(), value)

/** Why a change is made, for the audit. */
export const reason = z
  .string({ error: REASON })
  .refine((text) => checkReason(text, '').length === 0, { error: REASON })
  .describe('The reason for the change, 1 to 500 characters on one line')

export const table = name(
  byName(byName(count)),
  'Table',
  'Limits in tokens, by category and then by name of the window.',
)
export const scopedTable = name(
  z.strictObject({ personal: table, global: table }),
  'ScopedTable',
  'Limits in tokens, for each user (`personal`) and for all users together (`global`).',
)

export const planLimits = name(
  z.strictObject({ personal: table, organisation: table }),
  'PlanLimits',
  'The limits of a plan that are in force, in tokens. `organisation` has the limits that all users of an organisation share.',
)

/** The limits that the settings give, without overrides. */
export const effective = name(
  scopedTable.extend({
    /** By the name of the plan. Only with `quota.plans`. */
    plans: byName(planLimits).optional(),
  }),
  'Effective',
  'The limits in force, in tokens. They are those of users without a plan, and those of each plan.',
)

const softLimit = name(
  z.strictObject({ limit: z.int().min(1).max(MAX_LIMIT), over: z.int().min(0).max(MAX_LIMIT) }),
  'SoftLimit',
  'A limit in tokens, with the number of tokens that may be spent beyond it. The responses to such requests have `X-Tollgate-Quota-State: over`.',
)

/** The present state of a grant. */
const grantFields = { id: z.string(), category: z.string(), tokens: count, taken: count, left: count, until: time }
export const grantStatus = z.strictObject({ ...grantFields, scope })

export const grant = name(
  z.strictObject({
    ...grantFields,
    user: z.string().optional(),
    organisation: z.string().optional(),
    givenAt: time,
    endedAt: time.nullable(),
    live: z.boolean(),
    reason: z.string(),
  }),
  'Grant',
  'Extra tokens that a user or an organisation was given once. When a window of its scope has no room for a request, the grant pays the whole cost of the request.',
)

/** Present if no request and no access key has used the name. */
export const unseen = z.literal(true).optional()

export const grantGiven = name(
  grant.extend({ unseen }),
  'GrantGiven',
  'A new grant. `unseen` is present if its owner has never sent a request, because the name may be misspelt.',
)

export const grants = name(
  z.strictObject({ grants: z.array(grant), total: count }),
  'Grants',
  'The first 500 grants, including those that have ended. The newest comes first. `total` is the number of all grants.',
)

/** A limit in the form of the configuration file. */
export const limitValue = z.union([z.int().min(0).max(MAX_LIMIT), softLimit, z.literal(NO_LIMIT)])

/** Limits to set; `null` gives a value back to the file. */
export const tablePatch = byName(byName(limitValue.nullable()).nullable())

/** Limits to set in a plan. */
export const planTablesPatch = { personal: tablePatch.nullish(), organisation: tablePatch.nullish() }

export const limitTable = name(
  byName(byName(limitValue)),
  'LimitTable',
  'Limits by category and then by name of the window. A limit is a number of tokens, `{ "limit": 1000, "over": 200 }` if 200 more tokens may be spent beyond it, or `unlimited`.',
)

export const limitTables = name(
  z.strictObject({ personal: limitTable, global: limitTable }),
  'LimitTables',
  'Limits for each user (`personal`) and for all users together (`global`).',
)

export const planTables = name(
  z.strictObject({ personal: limitTable, organisation: limitTable }),
  'PlanTables',
  'The limits that are written for a plan. For other windows of a user the baselines apply, and an organisation has no limit there.',
)

/** The values of an override in one category. A `null` gets its default. */
export const overrideRow = byName(limitValue.nullable()).nullable()
