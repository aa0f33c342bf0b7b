import { z } from 'zod'
import { didYouMean } from '../../lib/suggest.ts'
import { invisibleIn } from '../invisible.ts'
import { quote } from '../problems.ts'
import { DURATION, formatDuration, formatSize, parseDuration, parseSize, type Reading, SIZE } from '../units.ts'

// Zod would compile a parser for each section, which takes longer than it saves, because files are rarely read.
z.config({ jitless: true })

/**
 * The kinds of values in the schema, each with a sentence for everything that can be wrong. `describe` adds the text of the JSON Schema,
 * with meaning and unit, and with range and default unless `or` adds these.
 */

/** A map of settings. An unknown key is a problem, with the key that was probably meant. */
export function section<S extends z.core.$ZodLooseShape>(
  shape: S,
  description: string,
  what = 'a map of settings',
): z.ZodObject<S, z.core.$strict> {
  const keys = Object.keys(shape)
  return z
    .strictObject(shape, {
      error: (issue) => (issue.code === 'unrecognized_keys' ? sentences(issue.keys, keys) : wanted(what, issue.input)),
    })
    .describe(description)
}

/** One sentence for each key, so that each gets its place. */
function sentences(unknown: readonly string[], known: readonly string[]): string {
  const all = `; the keys here are ${known.join(', ')}`
  return unknown
    .map((key) => {
      const blank = invisibleIn(key)
      const hidden = blank === null ? '' : ` with ${blank}, which looks like a space, in it`
      return `unknown key ${quote(key)}${hidden}${didYouMean(key, known) || all}`
    })
    .join('\n')
}

/** The sentence for a value that is missing or is not a `what`. */
export function wanted(what: string, input: unknown): string {
  return input === undefined ? `is missing: write ${what}` : `expected ${what}, got ${nameOf(input)}`
}

function nameOf(input: unknown): string {
  if (input === null) return 'nothing: fill it in or remove the key'
  if (Array.isArray(input)) return 'a list'
  if (typeof input === 'object') return 'a map'
  if (typeof input === 'string') return `the text ${quote(input)}`
  // A long number may be a secret.
  return String(input).length <= 15 ? `${input}` : `a ${typeof input}`
}

/**
 * zod 4.6 measures everything with a `length`, even a map with such a key, and throws if that is no number. The types
 * of these checks lack `when`.
 */
const IF_TEXT = { when: ({ value }: { value: unknown }): boolean => typeof value === 'string' }
const IF_LIST = { when: ({ value }: { value: unknown }): boolean => Array.isArray(value) }

interface TextOptions {
  readonly max?: number
  readonly what?: string
  readonly ifEmpty?: string
  /** A regular expression of ECMAScript that only goes into the JSON Schema. No text is checked by it here. */
  readonly pattern?: string
}

/** Text of 1 to `max` characters, which may be a secret, so no problem repeats it. @param ifEmpty the cure. Default `write WHAT` */
export function text({ max = 2048, what = 'text', ifEmpty = '', pattern }: TextOptions = {}) {
  return z
    .string({ error: ({ input }) => wanted(what, input) + quoteHint(input) })
    .min(1, { error: `is empty: ${ifEmpty || `write ${what}`}`, abort: true, ...IF_TEXT })
    .max(max, { error: `is longer than ${max} characters: shorten it`, ...IF_TEXT })
    .meta(pattern === undefined ? {} : { pattern })
}

function quoteHint(input: unknown): string {
  return typeof input === 'number' || typeof input === 'boolean' ? '; put it in quotes' : ''
}

/**
 * A value with the default that a file without the key has. The description of the key names neither default nor range: in the JSON Schema
 * both are appended to it, the range if the value has one.
 */
export function or<T extends z.ZodType>(value: T, byDefault: z.input<T>): z.ZodPrefault<T> {
  const { range } = value.meta() ?? {}
  const end = `${range === undefined ? '' : `${range}. `}Default ${byDefault}`
  return value.prefault(byDefault as z.core.util.NoUndefined<z.input<T>>).meta({ end })
}

/** Text that `parse` turns into a value. @param pattern a regular expression of ECMAScript that only goes into the JSON Schema */
export function read<T>(what: string, parse: (text: string) => Reading<T>, pattern?: string) {
  return z
    .string({ error: ({ input }) => wanted(what, input) })
    .transform((written, context): T => {
      const reading = parse(written)
      if ('value' in reading) return reading.value
      context.addIssue({ code: 'custom', message: reading.problem, input: written })
      return z.NEVER
    })
    .meta(pattern === undefined ? {} : { pattern })
}

/** Milliseconds, written like `30s`. @param min, max in the same form, inclusive */
export function duration(min: string, max: string, parse = parseDuration) {
  const reading = within(parse, formatDuration, min, max)
  return read('a duration with its unit, like 30s', reading, DURATION.source).meta({ range: `${min} to ${max}` })
}

/** Bytes, written like `64KiB`. @param min, max in the same form, inclusive */
export function size(min: string, max: string) {
  const reading = within(parseSize, formatSize, min, max)
  return read('a size with its unit, like 64KiB', reading, SIZE.source).meta({ range: `${min} to ${max}` })
}

function within(
  parse: (text: string) => Reading<number>,
  format: (amount: number) => string,
  min: string,
  max: string,
): (text: string) => Reading<number> {
  const [least, most] = [min, max].map((written) => bound(parse(written))) as [number, number]
  return (written) => {
    const reading = parse(written)
    if ('problem' in reading) return { problem: `${quote(written)} ${reading.problem}` }
    const { value } = reading
    return value >= least && value <= most
      ? reading
      : { problem: `${format(value)} is out of range: write ${min} to ${max}` }
  }
}

function bound(reading: Reading<number>): number {
  if ('value' in reading) return reading.value
  throw new Error(reading.problem)
}

/** An integer between two inclusive bounds. */
export function integer(min: number, max: number) {
  const range = `${min} to ${max}`
  const error = ({ input }: { input?: unknown }) => wanted(`an integer from ${range}`, input)
  return z.int({ error }).min(min, { error }).max(max, { error }).meta({ range })
}

const YAML_1_1_BOOLEANS = /^(?:y|yes|on|n|no|off)$/i

export function flag() {
  return z.boolean({ error: ({ input }) => wanted('true or false', input) + booleanHint(input) })
}

function booleanHint(input: unknown): string {
  if (typeof input !== 'string' || !YAML_1_1_BOOLEANS.test(input)) return ''
  return `, which is text in YAML 1.2: write ${/^(?:y|yes|on)$/i.test(input)}`
}

export function choice<const T extends readonly [string, ...string[]]>(options: T) {
  return z.enum(options, {
    error: ({ input }) =>
      wanted(`${options.length > 1 ? 'one of ' : ''}${options.join(', ')}`, input) +
      (typeof input === 'string' ? didYouMean(input, options) : ''),
  })
}

/** One of several shapes. `what` names all of them, for a value that fits none. */
export function either<const T extends readonly [z.ZodType, z.ZodType, ...z.ZodType[]]>(what: string, options: T) {
  return z.union(options, { error: ({ input }) => wanted(what, input) })
}

export function list<T extends z.ZodType>(item: T, min: number, max: number) {
  return z
    .array(item, { error: ({ input }) => wanted('a list', input) })
    .min(min, { error: 'is an empty list: write at least one entry', ...IF_LIST })
    .max(max, { error: `has more than ${max} entries: remove some`, ...IF_LIST })
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/

/** A name of a category or a window, which is safe in headers, metrics and keys. */
export const name = text({ what: 'a name', pattern: NAME.source })
  .regex(NAME, {
    error: ({ input }) =>
      `${quote(String(input))} is not a name: write 1 to 32 letters, digits, "_" or "-", beginning with a letter or digit`,
  })
  .describe('Letters, digits, "_" and "-", at most 32')

/**
 * A map from names to values of one kind.
 * @param what for the sentence that asks for it, with an example: `limits by window, like { 1h: 120 }`
 * @param key the allowed names. Default `name`
 */
export function byName<T extends z.ZodType>(value: T, what: string, key: z.ZodString = name) {
  return z
    .record(key, value, { error: ({ input }) => wanted(what, input) })
    .transform((record): ReadonlyMap<string, z.output<T>> => new Map(Object.entries(record) as [string, z.output<T>][]))
}
