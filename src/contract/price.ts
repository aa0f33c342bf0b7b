import { z } from 'zod'
import type { ShownPrice } from '../inputs/shown-price.ts'
import { count, name } from './admin/values.ts'

export const PRICE_TEXT =
  'A price by what a request asks for: where it is read (one of `body`, `query`, `header`, `size`), and how (`values`, `times`, `each` or `per`).'

/** A price that depends on the request, in the form of the configuration. */
export const askedPrice: z.ZodType<ShownPrice> = name(
  z.strictObject({
    body: z.array(z.string()).optional().describe('Paths of fields in the body. A request has one of them.'),
    query: z.string().optional().describe('The parameter of the query that decides.'),
    header: z.string().optional().describe('The header of the request that decides.'),
    size: z.literal('request').optional().describe('Present if the length of the body decides.'),
    get values() {
      return z
        .record(z.string(), z.union([count, askedPrice]))
        .optional()
        .describe('A price for each value.')
    },
    times: z.number().optional().describe('The tokens by which a number is multiplied. The product is rounded up.'),
    each: count.optional().describe('Tokens for each element of a list.'),
    per: z
      .int()
      .min(1)
      .optional()
      .describe('How many bytes cost one token. A part that is begun counts as a whole one.'),
    min: count.optional().describe('The lowest cost.'),
    max: count.optional().describe('The highest cost.'),
    missing: count
      .optional()
      .describe('Tokens that a request without the number or the list costs; absent if it is refused.'),
    otherwise: count
      .optional()
      .describe('Tokens that any other value costs, and a request without a value; absent if it is refused.'),
    batch: z
      .int()
      .min(1)
      .optional()
      .describe(
        'How many elements a JSON array may have. It costs the sum of its elements; absent if arrays are refused.',
      ),
  }) as z.ZodType<ShownPrice>,
  'AskedPrice',
  PRICE_TEXT,
)
