import { z } from 'zod'
import { fullness, layers, listCounts, periodDay, planInForce, recentRange, recentUse } from './limits.ts'
import { organisationOverride } from './users.ts'
import { byName, count, grantStatus, name, time, unseen } from './values.ts'

/** Organisations: what their users have used together. */

const window = z.strictObject({
  window: z.string(),
  /** By the plan that sets it: users of one organisation may have different ones. */
  limits: byName(count),
  /** In force: that of the override, else of the organisation's plan; `null` if neither limits the window. */
  limit: count.nullable(),
  /** Of a soft limit: tokens that pass beyond it. */
  over: count.optional(),
  used: count,
  startedAt: time.nullable(),
  resetAt: time.nullable(),
})

const listed = z.strictObject({
  organisation: z.string(),
  /** That of the newest credential of one of its users that was charged or refused. Only with `quota.plans`. */
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
    /** Missing while no grant pays. */
    grants: z.array(grantStatus).optional(),
  }),
  'Organisation',
  'The windows of an organisation by category, shortest first: those that some plan or its override limits. `limits` has what each such plan allows, `limit` is what is in force under the plan that the credential of one of its users named last. `source` and `steps` are its layers, empty for a limit that is null.',
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
  'A page of organisations, those with an override first unless another order is asked for: each that a credential has named is there, as long as its days are kept. `plans` are those of its `users` who are known. `blocked` says that a window has no room for the cheapest request of its category, so that users of some plan that members have are refused, whichever plan was named last. `next` is the cursor of the next page.',
)
