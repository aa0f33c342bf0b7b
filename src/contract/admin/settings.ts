import { z } from 'zod'
import { CALENDAR_UNITS } from '../../quota/calendar.ts'
import { ends, layer } from './layers.ts'
import { windows } from './limits.ts'
import {
  byName,
  count,
  effective,
  limitTables,
  limitValue,
  mode,
  multiplier,
  name,
  planLimits,
  planTables,
  scope,
  scopedTable,
  share,
} from './values.ts'

/** The settings of the quota for everybody. */

export const settings = name(
  z.strictObject({
    mode,
    global: z.strictObject({ enabled: z.boolean(), multiplier }),
    baselines: limitTables,
    custom: limitTables.nullable(),
    /** By the name of the plan. Only with `quota.plans`. */
    plans: byName(planTables).optional(),
    shadow: z.boolean(),
  }),
  'Settings',
  'The settings of the quota.',
)

export const warning = name(
  z.strictObject({
    plan: z.string().optional(),
    scope,
    category: z.string(),
    window: z.string(),
    limit: count,
    cost: count,
    routes: z.array(z.string()),
    routeCount: count,
    msg: z.string(),
  }),
  'Warning',
  'A limit that is lower than the cost of some requests, so that they can never pass. It has the highest of these costs, and the first 20 of the `routeCount` rules. `plan` is present if the limit belongs to a plan.',
)

export const warnings = z.array(warning)

/** The settings in force, those of the file, and the limits that result. */
export const settingsInForce = z.strictObject({
  version: count,
  /** What was set over time, newest first. Only if something is temporary, guarded or scheduled. */
  layers: z.array(layer).optional(),
  ...settings.shape,
  /** The factor of the mode in force. */
  factor: z.number(),
  effective,
  over: scopedTable.optional(),
  /** The plan of users without one. Only with `quota.plans`. */
  defaultPlan: z.string().nullable().optional(),
  file: settings,
  changed: z.array(z.string()),
  /** Limits that were set at run time but for which this gateway's file has no place. Absent if there are none. */
  resting: z.array(z.strictObject({ path: z.string(), value: limitValue })).optional(),
  categories: z.array(z.string()),
  /** By category, the cost of the cheapest request that the quota may refuse. Absent if it refuses nothing in the category. */
  cheapest: byName(count),
  windowLengths: z.array(
    z.strictObject({
      name: z.string(),
      seconds: z.int().min(1),
      calendar: z
        .strictObject({ unit: z.enum(CALENDAR_UNITS), zone: z.string(), day: z.int().min(1).max(31).optional() })
        .optional(),
    }),
  ),
  /** Limits in force into which some request can never fit. In mode `adaptive` they are those at the lowest factor. */
  warnings,
  adaptive: z.strictObject({ factor: z.number() }),
})

export const quota = name(
  settingsInForce.extend({
    /** The factor with its reason. */
    adaptive: z.strictObject({
      factor: z.number(),
      /** The forwarded requests of the last 30 minutes that count, and how many of them failed. */
      requests: z.number().min(0),
      failed: z.number().min(0),
      share: share.nullable(),
      settled: share.nullable(),
      trust: share,
      minRequests: count,
      why: z.string(),
    }),
    /** The global windows now, by category. */
    windows,
  }),
  'Quota',
  'The settings in force. `file` is what the file says, and `changed` lists the values that were changed at run time. `cheapest` is the lowest cost in each category that the quota may refuse. `warnings` lists limits that are lower than the cost of some request.',
)

/** Those values of a change that affect nobody. */
export const unfollowed = z.array(
  name(
    z.strictObject({
      path: z.string(),
      why: z.string(),
      by: z.array(
        z.discriminatedUnion('kind', [
          z.strictObject({
            kind: z.literal('plan'),
            plan: z.string(),
            limit: limitValue,
          }),
          z.strictObject({ kind: z.literal('plans'), count }),
          z.strictObject({ kind: z.literal('overrides'), count }),
          z.strictObject({ kind: z.literal('organisation_overrides') }),
          z.strictObject({ kind: z.literal('no_users'), plan: z.string() }),
          z.strictObject({ kind: z.literal('no_organisation'), plan: z.string() }),
          z.strictObject({ kind: z.literal('mode'), mode }),
          z.strictObject({ kind: z.literal('custom'), limit: limitValue }),
          z.strictObject({ kind: z.literal('switched_off') }),
        ]),
      ),
    }),
    'Unfollowed',
    'A value that affects nobody. `why` says what comes before it, for example `plan free sets 40` or `plan gold has no known users`. `by` has the parts of this sentence for programs.',
  ),
)

export const quotaChanged = name(
  quota.extend({
    ends,
    unfollowed: unfollowed.optional(),
    /** Whether the change affects nobody, because nobody follows its values. Absent if it does. */
    movesNobody: z.literal(true).optional(),
  }),
  'QuotaChanged',
  'The settings after a change, and the ends that the change has added and dropped. `movesNobody` means that the change affects nobody.',
)

const plan = name(
  z.strictObject({
    name: z.string(),
    users: count,
    file: planTables,
    values: planTables,
    changed: z.array(z.string()),
    effective: planLimits,
    /** The day on which its months begin, as the file says. */
    periodDay: z.int().min(1).max(31).optional(),
    /** Only if something of the plan is temporary, guarded or scheduled. */
    layers: z.array(layer).optional(),
  }),
  'Plan',
  'A plan of the file, with the limits that are written for it, the limits that were changed at run time, the limits in force, and the number of users.',
)

export const plans = name(
  z.strictObject({
    version: count,
    defaultPlan: z.string().nullable(),
    plans: z.array(plan),
    usersWithoutPlan: count,
  }),
  'Plans',
  'The plans, with the number of users of each plan, as far as the store knows them.',
)

export const inForce = name(
  settingsInForce.extend({
    storeOutage: byName(share),
  }),
  'InForce',
  'The settings that this gateway enforces, in the form of `Quota`, but without fields that only the store knows. `storeOutage` is the share of the limits that is admitted while the store cannot be reached.',
)
