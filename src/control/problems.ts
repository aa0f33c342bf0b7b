import { isObject } from '../lib/json.ts'
import { didYouMean } from '../lib/suggest.ts'
import { isLimitValue } from '../quota/limit-value.ts'
import { MAX_LIMIT, MULTIPLIER } from '../quota/policy.ts'

/** A problem in a body from an administrator, and the cure. */
export interface Problem {
  /** The names of members with dots between them, like `baselines.personal.read.1h`; empty for the whole body. */
  readonly path: string
  readonly msg: string
}

export type Json = Readonly<Record<string, unknown>>

/** Checks one value and says what is wrong with it. */
export type Check = (value: unknown, path: string) => Problem[]

const MAX_REASON = 500

export function below(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

/**
 * An object with no other keys than those of `checks`.
 * @param what the kind of its keys, for the message: `field`, `category`, `window`
 * @param more the end of the message about an unknown key. Default empty
 */
export function object(
  checks: ReadonlyMap<string, Check>,
  what: string,
  more: (key: string) => string = () => '',
): Check {
  const names = [...checks.keys()]
  return (value, path) => {
    if (!isObject(value)) return [{ path, msg: `must be an object with ${list(names)}` }]
    return Object.entries(value).flatMap(
      ([key, inner]) =>
        checks.get(key)?.(inner, below(path, key)) ?? [
          { path: below(path, key), msg: `unknown ${what} ${quote(key)}${cure(key, names)}${more(key)}` },
        ],
    )
  }
}

/** The same check for each of the names. */
export function each(names: readonly string[], check: Check): ReadonlyMap<string, Check> {
  return new Map(names.map((name) => [name, check]))
}

export function orNull(check: Check): Check {
  return (value, path) => (value === null ? [] : check(value, path))
}

/** A value that fulfils a condition. @param msg what is wrong with any other value, and the cure */
export function only(isGood: (value: unknown) => boolean, msg: string): Check {
  return (value, path) => (isGood(value) ? [] : [{ path, msg }])
}

/** Checks a value whose plan, category or window the configuration no longer has. It can only be given back. */
export const onlyNull = only(
  (value) => value === null,
  'rests, since the file has no such plan, category or window: add it there, or send null to give the value back',
)

export const limit = only(
  isLimitValue,
  `must be a whole number of tokens from 0 to ${MAX_LIMIT}, { "limit": 1000, "over": 200 }, or unlimited`,
)

export const multiplier = only(
  (value) => typeof value === 'number' && value >= MULTIPLIER.min && value <= MULTIPLIER.max,
  `must be a number from ${MULTIPLIER.min} to ${MULTIPLIER.max}`,
)

export const flag = only((value) => typeof value === 'boolean', 'must be true or false')

export const REASON = `must be a sentence of 1 to ${MAX_REASON} characters on one line: why it is changed`

export const reason = only(isReason, REASON)

export function choice(values: readonly string[]): Check {
  return (value, path) =>
    values.includes(value as string)
      ? []
      : [{ path, msg: `must be one of ${list(values)}${typeof value === 'string' ? didYouMean(value, values) : ''}` }]
}

/** Counts characters, not code units. Control characters would break a line of a list. */
function isReason(value: unknown): boolean {
  if (typeof value !== 'string' || value.trim() === '' || value.length > 2 * MAX_REASON) return false
  return [...value].length <= MAX_REASON && value.isWellFormed() && !/\p{Cc}/u.test(value)
}

function cure(key: string, names: readonly string[]): string {
  return didYouMean(key, names) || `; there ${names.length === 1 ? 'is' : 'are'} ${list(names)}`
}

function list(names: readonly string[]): string {
  return names.join(', ') || 'none'
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text)
}
