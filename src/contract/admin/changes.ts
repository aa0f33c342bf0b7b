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

/** Changes of what holds for everybody. */

export const requiredReason = name(z.strictObject({ reason }), 'Reason', 'Why a change is made.')
export const optionalReason = name(
  z.strictObject({ reason: reason.optional() }).nullish(),
  'OptionalReason',
  'Why a change is made. May be left out.',
)

/** Says what is meant by a scope whose windows cannot be emptied here. */
function scopeError(input: unknown): string {
  const must = 'must be "global" or "organisation"'
  if (typeof input !== 'string' || input.toLowerCase() !== 'personal') return must
  return `${must}: the windows of one user are emptied by POST /api/users/{id}/reset`
}

/** A refusal has the scope with a capital. */
function asSpeltHere(scope: unknown): unknown {
  return scope === 'Global' || scope === 'Organisation' ? scope.toLowerCase() : scope
}

export const quotaResetBody = name(
  z.strictObject({
    scope: z
      .preprocess(asSpeltHere, z.enum(['global', 'organisation'], { error: ({ input }) => scopeError(input) }))
      .describe('Whose windows: those of all users, or of one organisation. As here, or as a refusal names it'),
    organisation: z
      .string({ error: 'must be the id of an organisation' })
      .optional()
      .describe('Its id; only with that scope'),
    category: z.string({ error: 'must be the name of a category' }),
    window: z
      .string({ error: 'must be the name of a window' })
      .optional()
      .describe('Its name. Default: all windows of the category'),
    reason,
  }),
  'QuotaResetBody',
  'Which windows of all users together, or of one organisation, are to be emptied, and why.',
)

export const quotaReset = name(
  z.strictObject({ from: byName(count) }),
  'QuotaReset',
  'What was used in each of the windows until they were emptied, by name; a window that no category names any more by its length in seconds.',
)

const scopedPatch = z.strictObject({ personal: tablePatch.nullish(), global: tablePatch.nullish() })

/** Why and when a change is made, beside what it sets. */
const terms = {
  reason: reason.optional(),
  from: time.nullish().describe('When the change is to be made. Default now'),
  until: time.nullish().describe('When it is to be taken back. Default never'),
  guard: z
    .strictObject({
      for: z.string().describe('How long requests are counted: 10s to 1d'),
      refused: z.string().describe('The share of them that may be refused: `5%`'),
    })
    .nullish()
    .describe('Takes the change back if more than that is refused. `null` ends the guard of the last change'),
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
  'A JSON merge patch: what is missing stays, null gives a value back to the file.',
)

export const planPatch = name(
  z.strictObject({ ...planTablesPatch, ...terms }),
  'PlanPatch',
  'A JSON merge patch of the limits of one plan, as `plans` of a QuotaPatch has it for several.',
)

const blocked = block.extend({ blockedNow: z.boolean() })

/** What is counted of users, and of organisations. */
function counted<T extends z.ZodType>(one: T) {
  return {
    /** Those looked at. */
    scanned: count,
    blockedCount: count,
    /** Those of them who are not blocked now. */
    newlyBlockedCount: count,
    /** Those who are blocked now and would not be. */
    freedCount: count,
    /** Those first who are not blocked now. */
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
    /** Whether all runs of this time are still kept. */
    complete: z.boolean(),
    /** Users with a run. */
    scanned: count,
    rows: z.array(
      z.strictObject({
        category: z.string(),
        window: z.string(),
        /** All users with a run, their runs, and the tokens in them. */
        of: over,
        /** Those of them above the limit, and the tokens that lie above it. */
        above: over,
      }),
    ),
  }),
  'LookBack',
  'What users used in the last 24 hours, held against the personal limits of a change. A run counts if it ended in this time or runs still. `above` has the users with a run of more tokens than their limit, these runs, and the tokens above the limit. What was refused then is in no run.',
)

export const preview = name(
  z.strictObject({
    ...counted(blocked.extend({ user: z.string() })),
    /** Users of those looked at for whom the change makes a difference. */
    movedCount: count,
    /** Whether the change makes no difference to anybody: nobody follows what it sets. */
    movesNobody: z.boolean(),
    unfollowed,
    organisations: z.strictObject(counted(blocked.extend({ organisation: z.string(), plan: z.string().nullable() }))),
    /** Global windows that block everybody who does not bypass them. */
    everybody: z.array(blocked),
    /** Global windows that block new users alone, since a part is kept for known ones (quota.reserve). */
    newUsers: z.array(blocked),
    /** By category; empty if the global scope is switched off. */
    windows: byName(z.array(roomUnderChange)),
    effective,
    /** What passes beyond these limits. Only if something does. */
    over: scopedTable.optional(),
    /** What the change would do to ends. */
    ends,
    /** As those of the settings, under the change. */
    warnings,
    yesterday: lookBack,
  }),
  'Preview',
  'Who would be blocked under a change, from even the cheapest request of a category: users by any window that holds for them, organisations by theirs (`plan` is that of their users who are refused), everybody by full global ones, and new users by what the reserve leaves of them. `windows` is the room left in those (`limitNow` and `remainingNow` are null where they are switched off now). Each `blocked` has the first 100.',
)

export const distribution = name(
  z.strictObject({
    category: z.string(),
    window: z.string(),
    scope: z.enum(['personal', 'organisation']),
    plan: z.string().nullable(),
    at: time,
    /** Those with tokens in the window now. */
    counted: count,
    /** Those with tokens who are left out: they are exempt, or with `settings` a plan or an override sets their limit. */
    exempt: count,
    others: count,
    /** In percent of the limit, from `from` on. */
    shares: z.array(z.strictObject({ from: count, count })),
    percentiles: z.array(count),
  }),
  'Distribution',
  'How much of a window is used now. `exempt` and `others` count those who are left out: nothing is charged to them, or with `settings=true` a plan or an override sets their limit. `shares` says how many lie at each share of their own limit, the last one how many have reached it. `percentiles` has 101 values: value P is what P of 100 of them have used at most; empty if nobody has used any.',
)
