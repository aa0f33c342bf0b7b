import { z } from 'zod'
import type { QuotaViolation } from '../quota/refusal.ts'
import { count, scope, time } from './admin/values.ts'
import { tied } from './tied.ts'

/** The common parts of what clients and asking services get. */

export const errorBody = z.strictObject({ error: z.string(), msg: z.string() })

/** @param category any text, or the categories of one configuration @param window any text, or the windows of one configuration */
export function violationOf(category: z.ZodType<string>, window: z.ZodType<string>) {
  return tied<QuotaViolation>()(
    z.strictObject({
      scope,
      category,
      window,
      limit: count,
      over: count.optional(),
      used: count,
      requested: count,
      resetAt: time,
      retryAtBeijing: z.string().regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      timeZone: z.literal('Asia/Shanghai'),
    }),
  )
}
