import { z } from 'zod'
import { keyOfWritten } from '../../lib/json-scalar.ts'
import { integer, wanted } from './values.ts'

/** Whole tokens, and tokens by a value in a message. */

export const tokens = () => integer(0, 1e9).describe('Tokens, 0 to 1000000000')

/** A map from values of JSON to tokens. */
export function byValue<T extends z.ZodType>(amount: T, description: string) {
  return z
    .record(z.string().max(256, { error: 'has a value of more than 256 characters: shorten it' }), amount, {
      error: ({ input }) => wanted('a map of field values to tokens', input),
    })
    .refine((record) => Object.keys(record).length > 0, {
      error: 'is empty: write at least one value and its tokens',
    })
    .transform(byKey<z.output<T>>)
    .describe(description)
}

/** Helm and JSON make every key of a map a text, so the spelling of a key distinguishes a number from a text. */
function byKey<T>(record: Readonly<Record<string, T>>, context: z.RefinementCtx): ReadonlyMap<string, T> {
  const values = new Map<string, T>()
  const report = (written: string, message: string) =>
    context.addIssue({ code: 'custom', path: [written], message, input: record[written] })
  for (const [written, amount] of Object.entries(record)) {
    const key = keyOfWritten(written)
    if (key === null)
      report(written, 'is a number that readers of JSON round differently: write one of 15 digits at most')
    else if (values.has(key)) report(written, `is the same value as another key, ${key}: remove one of them`)
    else values.set(key, amount)
  }
  return values
}
