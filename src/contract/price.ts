import { z } from 'zod'
import type { ShownPrice } from '../inputs/shown-price.ts'
import { count, name } from './admin/values.ts'

export const PRICE_TEXT =
  'A price by what a request asks for: where it is read (one of `body`, `query`, `header`, `size`), and how (`values`, `times`, `each` or `per`).'

/** A price by what a request asks for, as the configuration writes it. */
export const askedPrice: z.ZodType<ShownPrice> = name(
  z.strictObject({
    body: z.array(z.string()).optional(),
    query: z.string().optional(),
    header: z.string().optional(),
    size: z.literal('request').optional(),
    get values() {
      return z.record(z.string(), z.union([count, askedPrice])).optional()
    },
    times: z.number().optional(),
    each: count.optional(),
    per: z.int().min(1).optional(),
    min: count.optional(),
    max: count.optional(),
    missing: count.optional(),
    otherwise: count.optional(),
    batch: z.int().min(1).optional(),
  }) as z.ZodType<ShownPrice>,
  'AskedPrice',
  PRICE_TEXT,
)
