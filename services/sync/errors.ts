import type * as z from 'zod'

/** One problem of a request, in the form of FastAPI. */
export interface Problem {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
}

/** A request that is not carried out. It is a value: no score has been written when a handler returns one. */
export interface Refusal {
  /** The HTTP status. */
  readonly refused: number
  readonly body: { readonly detail: string | readonly Problem[] }
  /** After so many seconds the same request may succeed. Absent: waiting does not help. */
  readonly retryAfter?: number
}

export function refuse(refused: number, detail: string | readonly Problem[], more: object = {}): Refusal {
  return { refused, body: { detail, ...more } }
}

export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}

/** Another request of the player, or another process, is storing scores. Clients know this text. */
export const UPLOADING: Refusal = { ...refuse(429, '成绩正在上传中'), retryAfter: 2 }

export const NO_TOKEN = refuse(401, 'Bot-Token 无效')
export const NO_PLAYER = refuse(404, 'player not found')
export const NO_SNAPSHOT = refuse(404, 'snapshot not found')

export function malformedBody(msg: string): Refusal {
  return refuse(422, [{ loc: ['body'], msg, type: 'json_invalid' }])
}

/** The part of a request in which a value stands. */
export type Place = 'body' | 'path' | 'query'

/** The most problems in one response: enough to find any mistake, too few to repeat 10,000 hostile records. */
const MAX_PROBLEMS = 100
/** Fields that may have a fraction. All other numbers are whole. */
const FRACTIONS = new Set<unknown>(['achievements', 'ds'])
const PLAYER_KEYS = new Set<unknown>(['qq', 'player_id'])

/** Reads a value by its schema. The result is the value, or a refusal in the form of FastAPI. */
export function readBy<T>(schema: z.ZodType<T>, value: unknown, place: Place): T | Refusal {
  const parsed = schema.safeParse(value, { reportInput: true })
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  if (issues.every(isRangeOfPlayer)) return refuse(400, 'qq is not within 10000 to 999999999999')
  return refuse(422, withoutTwins(issues.slice(0, MAX_PROBLEMS).map((issue) => problemOf(issue, place))))
}

/** The one range that the protocol answers with 400. */
function isRangeOfPlayer({ code, path }: z.core.$ZodIssue): boolean {
  return (code === 'too_small' || code === 'too_big') && path.length === 1 && PLAYER_KEYS.has(path[0])
}

/** A value that breaks two rules is reported once. */
function withoutTwins(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.toReversed().map((problem) => [problem.loc.join('/'), problem])).values()].toReversed()
}

function problemOf(issue: z.core.$ZodIssue, place: Place): Problem {
  const [type, msg] = wordsOf(issue, place)
  return { loc: [place, ...(issue.path as (string | number)[])], msg, type }
}

type Words = readonly [type: string, msg: string]

const TYPES: Readonly<Record<string, Words>> = {
  string: ['string_type', 'Input should be a valid string'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  array: ['list_type', 'Input should be a valid list'],
  object: ['dict_type', 'Input should be a valid dictionary'],
  int: ['int_from_float', 'Input should be a valid integer, got a number with a fractional part'],
}

function wordsOf(issue: z.core.$ZodIssue, place: Place): Words {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return ['missing', 'Field required']
      return TYPES[issue.expected] ?? numberWords(issue.path.at(-1), place)
    case 'too_big':
      return tooBig(issue.origin, Number(issue.maximum))
    case 'too_small':
      return issue.origin === 'string'
        ? ['string_too_short', `String should have at least ${issue.minimum} characters`]
        : ['greater_than_equal', `Input should be greater than or equal to ${issue.minimum}`]
    case 'invalid_format':
      return ['string_pattern_mismatch', `String should match pattern ${issue.pattern}`]
    default:
      return ['value_error', `Value error, ${issue.message}`]
  }
}

function numberWords(field: PropertyKey | undefined, place: Place): Words {
  if (FRACTIONS.has(field)) return ['float_type', 'Input should be a valid number']
  if (place === 'body') return ['int_type', 'Input should be a valid integer']
  return ['int_parsing', 'Input should be a valid integer, unable to parse string as an integer']
}

function tooBig(origin: string, maximum: number): Words {
  if (origin === 'array') return ['too_long', `List should have at most ${maximum} items`]
  if (origin === 'string') return ['string_too_long', `String should have at most ${maximum} characters`]
  return ['less_than_equal', `Input should be less than or equal to ${maximum}`]
}
