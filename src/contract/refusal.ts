import { z } from 'zod'
import type { QuotaViolation } from '../quota/refusal.ts'
import { count, scope, time } from './admin/values.ts'
import { tied } from './tied.ts'

/** What clients of the gateway and services that ask for decisions are told alike. */

export const errorBody = z.strictObject({ error: z.string(), msg: z.string() })

/** @param category its name, and that of its window, as far as a document knows them */
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
