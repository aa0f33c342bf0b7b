import { z } from 'zod'
import type { ShownPrice } from '../inputs/shown-price.ts'
import { count, name } from './admin/values.ts'

export const PRICE_TEXT =
  'A price by what a request asks for: where it is read (one of `body`, `query`, `header`, `size`), and how (`values`, `times`, `each` or `per`).'

/** A price by what a request asks for, as the configuration writes it. */
export const askedPrice: z.ZodType<ShownPrice> = name(
  z.strictObject({
    body: z.array(z.string()).optional().describe('Paths of members of the body, one of which a request has.'),
    query: z.string().optional().describe('The parameter of the query.'),
    header: z.string().optional().describe('The field of the request.'),
    size: z.literal('request').optional().describe('That the length of the body decides.'),
    get values() {
      return z
        .record(z.string(), z.union([count, askedPrice]))
        .optional()
        .describe('A price for each value.')
    },
    times: z.number().optional().describe('Tokens for each one of a number, rounded up.'),
    each: count.optional().describe('Tokens for each element of a list.'),
    per: z.int().min(1).optional().describe('One token for so many bytes that are begun.'),
    min: count.optional().describe('The least that it comes to.'),
    max: count.optional().describe('The most that it comes to.'),
    missing: count.optional().describe('Tokens of a request without the number or the list; absent if it is refused.'),
    otherwise: count
      .optional()
      .describe('Tokens of any other value, and of a request without one; absent if it is refused.'),
    batch: z
      .int()
      .min(1)
      .optional()
      .describe('How many elements an array may have, which costs the sum of them; absent if one is refused.'),
  }) as z.ZodType<ShownPrice>,
  'AskedPrice',
  PRICE_TEXT,
)
