import { z } from 'zod'
import { CALENDAR_UNITS } from '../../quota/calendar.ts'
import { ends, layer } from './layers.ts'
import { windows } from './limits.ts'
import {
  byName,
  count,
  limitTables,
  limitValue,
  mode,
  multiplier,
  name,
  planLimits,
  scope,
  scopedTable,
  share,
} from './values.ts'

/** The settings of the quota that hold for everybody. */

export const settings = name(
  z.strictObject({
    mode,
    global: z.strictObject({ enabled: z.boolean(), multiplier }),
    baselines: limitTables,
    custom: limitTables.nullable(),
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
    /** A sentence. */
    msg: z.string(),
  }),
  'Warning',
  'A limit that some request can never fit into: what it costs at the most, and the first 20 of the `routeCount` rules of such requests. `plan` is there if the limit is that of a plan.',
)

export const warnings = z.array(warning)

/** The settings of one layer, and the limits that they make with the others. */
export const settingsInForce = z.strictObject({
  version: count,
  /** What was set over time, the newest first. Only if there is anything temporary, guarded or to come. */
  layers: z.array(layer).optional(),
  ...settings.shape,
  /** Of the mode, in force. */
  factor: z.number(),
  effective: scopedTable,
  /** What passes beyond these limits. Only if something does. */
  over: scopedTable.optional(),
  /** The limits in force of each plan, and the plan of whoever has none. Only with `quota.plans`. */
  plans: byName(planLimits).optional(),
  defaultPlan: z.string().nullable().optional(),
  /** What the file says. */
  file: settings,
  /** Dotted paths of the values that were changed at run time: `mode`, `global.multiplier`, `baselines.personal.read.1h`. */
  changed: z.array(z.string()),
  /** Limits that were set at run time in a category or window that this file does not have: they hold where a file has it, and here once it does. Missing if there are none. */
  resting: z.array(z.strictObject({ path: z.string(), value: limitValue })).optional(),
  categories: z.array(z.string()),
  /** By category, the cost of the cheapest request that the quota may refuse. A category is absent if the quota refuses nothing in it. */
  cheapest: byName(count),
  /** Of a calendar window `seconds` is more than the longest of its periods. */
  windowLengths: z.array(
    z.strictObject({
      name: z.string(),
      seconds: z.int().min(1),
      calendar: z.strictObject({ unit: z.enum(CALENDAR_UNITS), zone: z.string() }).optional(),
    }),
  ),
  /** Limits in force that some request can never fit into; in mode `adaptive` also those of its lowest factor. */
  warnings,
  /** The adaptive factor, in every mode. */
  adaptive: z.strictObject({ factor: z.number() }),
})

export const quota = name(
  settingsInForce.extend({
    /** With why the factor is what it is. */
    adaptive: z.strictObject({
      factor: z.number(),
      /** Forwarded requests of the last 30 minutes that count, and how many of them failed. */
      requests: z.number().min(0),
      failed: z.number().min(0),
      /** `failed / requests`; `null` without a request. */
      share: share.nullable(),
      /** The share that counts beside the hours before, and how much it counts: 0 (too few requests) to 1. */
      settled: share.nullable(),
      trust: share,
      minRequests: count,
      /** A sentence. */
      why: z.string(),
    }),
    /** The global windows now, by category. */
    windows,
  }),
  'Quota',
  'The settings in force and what became of them. `file` is what the file says, `changed` which values were changed at run time, `cheapest` the least that a request of a category costs which the quota may refuse, `warnings` limits that some request can never fit into.',
)

export const quotaChanged = name(
  quota.extend({
    ends,
    /** Whether the change makes no difference to anybody, whoever comes: plans set the limits that it names for everybody, or the mode goes by others. Missing if it does. */
    movesNobody: z.literal(true).optional(),
  }),
  'QuotaChanged',
  'The settings after a change, and the ends that it has added or dropped. With `movesNobody` no limit of anybody is another one by it.',
)

export const inForce = name(
  settingsInForce.extend({
    /** By category; 0 refuses with 503. */
    storeOutage: byName(share),
  }),
  'InForce',
  'The settings that this gateway enforces, as `Quota` has them, without what only the store knows. `storeOutage` is the share of the limits that is admitted while the store is out.',
)
