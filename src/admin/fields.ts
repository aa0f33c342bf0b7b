import { z } from 'zod'
import { isUserId, USER_ID } from '../control/user-id.ts'
import { didYouMean } from '../lib/suggest.ts'
import { spanMs, timeOf } from '../usage/usage-query.ts'
import type { FieldProblem } from './http.ts'

/** The most problems that are described. A body has room for thousands of unknown fields, and each is compared with every known field. */
const MAX_DESCRIBED = 20

/** The result of a schema for a value from outside, or one problem for each wrong field. */
export type Fields<T> = { readonly data: T } | { readonly problems: readonly FieldProblem[] }

export function readFields<T>(schema: z.ZodType<T>, value: unknown): Fields<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { data: parsed.data }
  const wrong = parsed.error.issues.flatMap(faultsOf)
  const problems = wrong.slice(0, MAX_DESCRIBED).map((fault) => describe(fault, fieldsOf(schema)))
  const others = wrong.length - problems.length
  if (others === 0) return { problems }
  return { problems: [...problems, { path: '', msg: `${others} more ${others === 1 ? 'problem' : 'problems'}` }] }
}

/** A faulty field: its name if it is unknown, or the issue of a known one. */
type Fault = string | z.core.$ZodIssue

function faultsOf(issue: z.core.$ZodIssue): readonly Fault[] {
  return issue.code === 'unrecognized_keys' ? issue.keys : [issue]
}

function describe(fault: Fault, known: readonly string[]): FieldProblem {
  if (typeof fault === 'string') {
    const cure = `; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`
    return { path: fault, msg: `unknown field ${JSON.stringify(fault)}${didYouMean(fault, known) || cure}` }
  }
  if (fault.code === 'invalid_type' && fault.path.length === 0)
    return { path: '', msg: `must be a JSON object with ${known.join(', ')}` }
  return { path: fault.path.join('.'), msg: fault.message }
}

/** The names of an object's fields, even if its schema is optional or nullable. */
function fieldsOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return fieldsOf(schema.unwrap())
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

/** A text of a query, which may be there only once. */
export const once = z.string({ error: 'must be given once' })
export const userOnce = once.refine(isUserId, { error: `must be a user id: ${USER_ID}` })
export const organisationOnce = once.refine(isUserId, { error: `must be an organisation: ${USER_ID}` })

/** A text that passes a check. @param error what the text must be */
export function textFor(isGood: (text: string) => boolean, error: string) {
  return z.string({ error }).refine(isGood, { error })
}

/** A text of a query with at most `max` characters. */
export function shortText(max: number) {
  return once.max(max, { error: `must have at most ${max} characters` })
}

/** A text of a query with at least one character. */
export const filled = once.min(1, { error: 'must not be empty' })
export function filledText(max: number) {
  return filled.max(max, { error: `must have at most ${max} characters` })
}

/** A number in a query, only in digits and exact. `Number` would also accept 1e1, 0x10 and the empty text. */
export function whole(min: number, max: number, error: string) {
  const digits = (value: unknown): unknown =>
    typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  return z.preprocess(digits, z.number({ error }).int({ error }).min(min, { error }).max(max, { error }))
}

/** A query's number of entries for a page. */
export function limit(max: number, usual: number) {
  return whole(1, max, `must be a whole number from 1 to ${max}`).default(usual)
}

/** A parameter that is either `true` or left out. @param without what the list has if the parameter is left out */
export function only(description: string, without = 'all') {
  return z
    .literal('true', { error: `must be true; leave it out for ${without}` })
    .transform(() => true)
    .default(false)
    .describe(description)
}

const A_TIME = 'must be a time like 2026-11-01T00:00:00Z, a day like 2026-11-01, or a span before now like 6h or 7d'

/** A query's time as a text, which `momentAt` evaluates. */
export const moment = once.refine((text) => spanMs(text) !== null || timeOf(text) !== null, { error: A_TIME })

/** @param at the store's time @param zone of a day @returns milliseconds since the epoch */
export function momentAt(text: string | undefined, at: number, zone: string): number | undefined {
  if (text === undefined) return undefined
  const span = spanMs(text)
  return span === null ? (timeOf(text, zone) ?? 0) : Math.max(0, at - span)
}
