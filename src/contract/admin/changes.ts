import { z } from 'zod'
import { ends } from './layers.ts'
import { block, limitOfNewUsers } from './limits.ts'
import { unfollowed, warnings } from './settings.ts'
import {
  byName,
  count,
  effective,
  mode,
  multiplier,
  name,
  planTablesPatch,
  reason,
  scopedTable,
  tablePatch,
  time,
} from './values.ts'

/** Changes of the settings for everybody, their previews, and resets of windows. */

export const requiredReason = name(z.strictObject({ reason }), 'Reason', 'The reason for a change.')
export const optionalReason = name(
  z.strictObject({ reason: reason.optional() }).nullish(),
  'OptionalReason',
  'The reason for a change. You may leave it out.',
)

/** Names the right place for a scope whose windows cannot be emptied here. */
function scopeError(input: unknown): string {
  const must = 'must be "global" or "organisation"'
  if (typeof input !== 'string' || input.toLowerCase() !== 'personal') return must
  return `${must}: the windows of one user are emptied by POST /api/users/{id}/reset`
}

/** Refusals write the scope with a capital letter. */
function asSpeltHere(scope: unknown): unknown {
  return scope === 'Global' || scope === 'Organisation' ? scope.toLowerCase() : scope
}

export const quotaResetBody = name(
  z.strictObject({
    scope: z
      .preprocess(asSpeltHere, z.enum(['global', 'organisation'], { error: ({ input }) => scopeError(input) }))
      .describe(
        'The scope of the windows: all users, or one organisation. You can also write it as a refusal names it, such as Global',
      ),
    organisation: z
      .string({ error: 'must be the id of an organisation' })
      .optional()
      .describe('The id of the organisation, with the scope `organisation`'),
    category: z.string({ error: 'must be the name of a category' }),
    window: z
      .string({ error: 'must be the name of a window' })
      .optional()
      .describe('The name of the window. The default is all windows of the category'),
    reason,
  }),
  'QuotaResetBody',
  'Which windows of all users together, or of one organisation, should be emptied, and why.',
)

export const quotaReset = name(
  z.strictObject({ from: byName(count) }),
  'QuotaReset',
  'How many tokens each window had before it was emptied, by name of the window. A window that no category uses any more is named by its length in seconds.',
)

const scopedPatch = z.strictObject({ personal: tablePatch.nullish(), global: tablePatch.nullish() })

/** Why and when a change is made. */
const terms = {
  reason: reason.optional(),
  from: time.nullish().describe('When the change begins. Default now'),
  until: time.nullish().describe('When the change ends by itself. Default never'),
  guard: z
    .strictObject({
      for: z.string().describe('How long requests are counted, from 10s to 1d'),
      refused: z.string().describe('The share of the requests that may be refused, such as `5%`'),
    })
    .nullish()
    .describe(
      'Takes the change back by itself if too many requests are refused. `null` ends the guard of the last change',
    ),
}

export const quotaPatch = name(
  z.strictObject({
    mode: mode.nullish(),
    global: z.strictObject({ enabled: z.boolean().nullish(), multiplier: multiplier.nullish() }).nullish(),
    baselines: scopedPatch.nullish(),
    custom: scopedPatch.nullish(),
    plans: byName(z.strictObject(planTablesPatch).nullable()).nullish(),
    shadow: z.boolean().nullish(),
    ...terms,
  }),
  'QuotaPatch',
  'A JSON merge patch. A field that you leave out stays as it is, and with null the value of the file applies again.',
)

export const planPatch = name(
  z.strictObject({ ...planTablesPatch, ...terms }),
  'PlanPatch',
  'A JSON merge patch of the limits of one plan, in the form that `plans` of a QuotaPatch has for each plan.',
)

const blocked = block.extend({ blockedNow: z.boolean() })

/** Counts of users or organisations. */
function counted<T extends z.ZodType>(one: T) {
  return {
    scanned: count,
    blockedCount: count,
    newlyBlockedCount: count,
    freedCount: count,
    blocked: z.array(one),
  }
}

const roomUnderChange = z.strictObject({
  window: z.string(),
  used: count,
  limit: count,
  limitOfNewUsers,
  remaining: count,
  limitNow: count.nullable(),
  remainingNow: count.nullable(),
})

const over = z.strictObject({ users: count, runs: count, tokens: count })

const lookBack = name(
  z.strictObject({
    from: time,
    to: time,
    complete: z.boolean(),
    /** Users with a run. */
    scanned: count,
    rows: z.array(
      z.strictObject({
        category: z.string(),
        window: z.string(),
        of: over,
        above: over,
      }),
    ),
  }),
  'LookBack',
  'The tokens that users spent in the last 24 hours, compared with the personal limits of a change. A run counts if it ended in this time or is still running. `above` has the users with a run above the limit, the number of these runs, and the tokens above the limit. Requests that were refused are in no run.',
)

export const preview = name(
  z.strictObject({
    ...counted(blocked.extend({ user: z.string() })),
    movedCount: count,
    movesNobody: z.boolean(),
    unfollowed,
    organisations: z.strictObject(counted(blocked.extend({ organisation: z.string(), plan: z.string().nullable() }))),
    everybody: z.array(blocked),
    newUsers: z.array(blocked),
    /** By category; empty if the global scope is switched off. */
    windows: byName(z.array(roomUnderChange)),
    effective,
    over: scopedTable.optional(),
    ends,
    /** The warnings of the settings after the change. */
    warnings,
    yesterday: lookBack,
  }),
  'Preview',
  'Who would be blocked by a change, even with the cheapest request of a category. Users are blocked by any window that applies to them, and organisations by their own windows (`plan` is the plan of the users who are refused). `everybody` has full global windows, and `newUsers` the windows in which only the reserve is left. `windows` is the room in the global windows (`limitNow` and `remainingNow` are null if a window is switched off now). Each `blocked` has the first 100.',
)

export const distribution = name(
  z.strictObject({
    category: z.string(),
    window: z.string(),
    scope: z.enum(['personal', 'organisation']),
    plan: z.string().nullable(),
    at: time,
    counted: count,
    exempt: count,
    others: count,
    shares: z.array(z.strictObject({ from: count, count })),
    percentiles: z.array(count),
  }),
  'Distribution',
  'How much of a window the users have used. `exempt` and `others` count users who are left out: users who are never charged, and with `settings=true` users whose limit comes from a plan or an override. `shares` says how many users have used each share of their own limit, and its last number counts those who have reached it. `percentiles` has 101 values. Value P is the share that P of 100 users have not exceeded. It is empty if nobody has used anything.',
)
