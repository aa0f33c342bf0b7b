import { expect, test } from 'vitest'
import { z } from 'zod'
import { tied } from '../../src/contract/tied.ts'

interface Body {
  readonly name: string
  readonly more?: { readonly list: readonly number[] }
}

test('a schema that has the members of its body is given back as it is, and any other does not compile', () => {
  const more = z.strictObject({ list: z.array(z.number()) }).optional()
  const schema = z.strictObject({ name: z.string(), more })
  expect(tied<Body>()(schema)).toBe(schema)
  // @ts-expect-error: an optional member is missing
  tied<Body>()(z.strictObject({ name: z.string() }))
  // @ts-expect-error: a member that the body does not have
  tied<Body>()(schema.extend({ other: z.string().optional() }))
  // @ts-expect-error: a member of another type, deep inside
  tied<Body>()(z.strictObject({ name: z.string(), more: z.strictObject({ list: z.array(z.string()) }).optional() }))
  // @ts-expect-error: a member that may be missing and never is
  tied<Body>()(schema.extend({ name: z.string().optional() }))
})
