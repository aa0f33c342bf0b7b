import { z } from 'zod'
import { fullness, layers, listCounts, periodDay, planInForce, recentRange, recentUse } from './limits.ts'
import { organisationOverride } from './users.ts'
import { byName, count, grantStatus, name, time, unseen } from './values.ts'

/** Organisations: what their users have used together. */

const window = z.strictObject({
  window: z.string(),
  /** The limit of each plan, because users of one organisation may have different plans. */
  limits: byName(count),
  /** The limit in force, from the override or else from the organisation's plan; `null` if neither limits the window. */
  limit: count.nullable(),
  over: count.optional(),
  used: count,
  startedAt: time.nullable(),
  resetAt: time.nullable(),
})

const listed = z.strictObject({
  organisation: z.string(),
  /** The plan in the newest credential of a user of the organisation that was charged or refused. Only with `quota.plans`. */
  plan: planInForce.optional(),
  windows: byName(z.array(window)),
  override: organisationOverride.nullable(),
  blocked: z.boolean(),
})

export const organisation = name(
  listed.extend({
    unseen,
    periodDay,
    windows: byName(z.array(window.extend(layers.shape))),
    /** Absent while no grant pays. */
    grants: z.array(grantStatus).optional(),
  }),
  'Organisation',
  'The windows of an organisation by category, if a plan or its override limits them. The shortest window comes first. `limits` has the limit of each plan, and `limit` the one that is in force under the plan in the last credential of its users. `source` and `steps` explain the limit, and are empty if it is null.',
)

export const organisations = name(
  z.strictObject({
    organisations: z.array(
      listed.extend({
        ...{ plans: z.array(z.string()), users: count, ...fullness, refused: count },
        recent: recentUse,
      }),
    ),
    recent: recentRange,
    ...listCounts,
    next: z.string().nullable(),
  }),
  'Organisations',
  'A page of organisations that credentials have named, as long as their days are kept. Organisations with an override come first, unless you ask for another order. `plans` are the plans of its known `users`. `blocked` means that a window has no room for the cheapest request of its category, so that the users of some plan are refused. `next` is the cursor of the next page.',
)
