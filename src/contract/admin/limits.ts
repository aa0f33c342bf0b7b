import { z } from 'zod'
import type { SharedWindowStatus } from '../../quota/status.ts'
import { tied } from '../tied.ts'
import { byName, count, name, scope, time } from './values.ts'

/** Limits with their usage and layers, and how users and organisations stand to them. */

/** The limit for new users of a global window with a reserve (`quota.reserve`). Only if the window is shown for all users together. */
export const limitOfNewUsers = count.optional()

/** For a soft limit: the tokens that pass beyond it. */
const over = count.optional()

export const window = name(
  tied<SharedWindowStatus>()(
    z.strictObject({
      scope,
      window: z.string(),
      limit: count,
      over,
      limitOfNewUsers,
      used: count,
      remaining: count,
      startedAt: time.nullable(),
      resetAt: time.nullable(),
    }),
  ),
  'Window',
  'One window as it stands; one that is not running has `used` 0 and no times.',
)

/** Windows by category. */
export const windows = byName(z.array(window))

export const layers = z.strictObject({
  source: z.string(),
  /** One sentence for each layer: `baseline 120 (tollgate.yaml:22)`, `mode conservative x 0.75`. */
  steps: z.array(z.string()),
})

/** The plan of a caller, and what names it. `unknown` is the plan in the credential, if it is not configured. */
export const planInForce = z.strictObject({
  name: z.string().nullable(),
  from: z.enum(['override', 'credential', 'default']).nullable(),
  unknown: z.string().nullable(),
})

/** The day on which somebody's months begin, and what sets it. Absent if it is the day of the window. */
export const periodDay = z
  .strictObject({
    day: z.int().min(1).max(31),
    from: z.enum(['override', 'credential', 'plan']),
  })
  .optional()

export const limit = name(
  z.strictObject({ ...window.shape, ...layers.shape }),
  'Limit',
  'A window, and how its limit came about.',
)

/** A window that refuses somebody. Its `resetAt` is null if no request fits into the limit, so that waiting does not help. */
export const block = z.strictObject({
  scope,
  category: z.string(),
  window: z.string(),
  limit: count,
  used: count,
  resetAt: time.nullable(),
})

export const standing = name(
  z.strictObject({
    state: z.enum(['room', 'granted', 'refused', 'shadow', 'exempt']),
    by: block.nullable(),
    /** The window in whose place grants pay, and their remaining tokens. Only with `granted`. */
    grants: block.extend({ left: count }).optional(),
  }),
  'Standing',
  'Whether the quota refuses a user now. `room` means that no request is refused. `granted` means that no request is refused because extra tokens pay instead of the window in `grants`. `refused` means that even the cheapest request of a category gets a 429, because of the window `by`. `shadow` means that `by` is full, but refuses nobody because of shadow. `exempt` means that the user is never charged.',
)

/** Recent usage in hours or days, oldest first. Only on request. */
export const recentUse = z.strictObject({ tokens: count, steps: z.array(count) }).optional()

/** The time of recent usage, and the window whose runs are counted in the step in which they begin. Only on request. */
export const recentRange = z
  .strictObject({ from: time, to: time, window: z.string(), complete: z.boolean() })
  .optional()

/** How full the windows of one user or organisation are, and when they will be full. */
export const fullness = {
  worst: z
    .strictObject({
      ...{ category: z.string(), window: z.string(), used: count, limit: count, over },
      resetAt: time.nullable(),
    })
    .nullable(),
  forecast: z.strictObject({ category: z.string(), window: z.string(), fullAt: time }).nullable(),
  tokens: count,
}

/** Fields of a sorted list: how many entries match, how many would match with each filter, and whether all owners were looked at. */
export const listCounts = {
  total: count.optional(),
  counts: z
    .strictObject({
      all: count,
      near: count,
      refused: count,
      override: count,
      exempt: count,
      blocked: count,
      shadow: count,
    })
    .optional(),
  complete: z.boolean().optional(),
}
