import { z } from 'zod'
import { didYouMean } from '../lib/suggest.ts'
import type { FieldProblem } from './http.ts'

/** What a schema made of a value from outside, or one problem for each field that is wrong. */
export type Fields<T> = { readonly data: T } | { readonly problems: readonly FieldProblem[] }

export function readFields<T>(schema: z.ZodType<T>, value: unknown): Fields<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { data: parsed.data }
  return { problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, schema)) }
}

function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType): FieldProblem[] {
  const known = fieldsOf(schema)
  if (issue.code === 'invalid_type' && issue.path.length === 0)
    return [{ path: '', msg: `must be a JSON object with ${known.join(', ')}` }]
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), msg: issue.message }]
  const cure = `; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`
  return issue.keys.map((key) => ({
    path: key,
    msg: `unknown field ${JSON.stringify(key)}${didYouMean(key, known) || cure}`,
  }))
}

/** Also of a body that may be left out. */
function fieldsOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return fieldsOf(schema.unwrap())
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

/** A number of a query, in digits alone, as many as are exact: `Number` takes 1e1, 0x10 and the empty text too. */
export function whole(min: number, max: number, error: string) {
  const digits = (value: unknown): unknown =>
    typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  return z.preprocess(digits, z.number({ error }).int({ error }).min(min, { error }).max(max, { error }))
}

/** How many entries a page has. */
export function limit(max: number, usual: number) {
  return whole(1, max, `must be a whole number from 1 to ${max}`).default(usual)
}
