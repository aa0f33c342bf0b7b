import * as z from 'zod'
import { COMBO, SYNC } from '../../music/lamps.ts'
import { type Detail, type Refusal, refuse } from '../errors.ts'

/** Fields that existing clients send and that have no meaning here. They are never kept or logged. */
const IGNORED = {
  type: z.unknown().optional(),
  qr_text: z.unknown().optional(),
  qrcode: z.unknown().optional(),
  keychip: z.unknown().optional(),
}

const wholeNumber = z.number().refine(Number.isInteger, { error: 'expected a whole number' }).meta({ type: 'integer' })
const musicId = z.int().min(1).max(999_999)
const level = z.union([z.int().min(0).max(4), z.literal(10)], { error: 'expected 0 to 4, or 10 for utage' })
/** Numbers arrive as their source text; see parseBody. */
const achievement = z.string({ error: 'expected a number or a numeric string' }).meta({
  type: ['number', 'string'],
  description: 'Up to the maximum (101, or 202 on a buddy chart) in percent; an integer from 10000 is percent x 10000.',
})

function lamp(known: ReadonlyMap<unknown, number>, names: string): z.ZodType<number> {
  const of = (type: string) => [...known.keys()].filter((key) => typeof key === type)
  // Generators of clients do not accept an enumeration that mixes texts and numbers.
  const anyOf = [
    { type: 'string', enum: of('string') },
    { type: 'integer', enum: of('number') },
  ]
  return z
    .unknown()
    .transform((value, context) => {
      const number = known.get(value)
      if (number === undefined) context.addIssue(`expected ${names}`)
      return number ?? 0
    })
    .meta({ anyOf })
}

/** The one value of a field with several names. The same value may be given twice; different values are refused. */
function oneOf<T>(names: Record<string, T | undefined>, context: z.RefinementCtx): T {
  const given = Object.entries(names).filter(([, value]) => value !== undefined)
  const first = Object.keys(names)[0] ?? ''
  const problem =
    given.length === 0
      ? 'is required'
      : given.some(([, value]) => value !== given[0]?.[1])
        ? `${given.map(([name]) => name).join(' and ')} differ`
        : null
  if (problem !== null) context.addIssue({ code: 'custom', path: [first], message: problem })
  return given[0]?.[1] as T
}

/** For the document: at least one of these names must be there. */
const either = (...names: string[]) => ({ anyOf: names.map((name) => ({ required: [name] })) })

/** For the document: exactly one of these names must be there. The gateway cannot price a body that has a field under two names. */
const only = (...names: string[]) => ({ oneOf: names.map((name) => ({ required: [name] })) })

const idNames = { musicId: musicId.optional(), music_id: musicId.optional(), id: musicId.optional() }

/** One record of an upsert. Parts that need the catalogue are judged later. */
export const scoreRecord = z
  .strictObject({
    ...idNames,
    level,
    achievement: achievement.optional(),
    acc: achievement.optional(),
    /** A DX score, or with `fuzzy` a number of stars. */
    dxScore: wholeNumber,
    comboStatus: lamp(COMBO, 'none, fc, fcp, ap, app or 0 to 4').optional(),
    syncStatus: lamp(SYNC, 'none, fs, fsp, fsd, fdx, fsdp, fdxp, sync or 0 to 5').optional(),
    fuzzy: z.boolean().default(false),
    ...IGNORED,
  })
  .meta({ allOf: [either('musicId', 'music_id', 'id'), either('achievement', 'acc')] })
  .transform((r, context) => ({
    musicId: oneOf({ musicId: r.musicId, music_id: r.music_id, id: r.id }, context),
    level: r.level,
    achievement: oneOf({ achievement: r.achievement, acc: r.acc }, context),
    dxScore: r.dxScore,
    comboStatus: r.comboStatus ?? 0,
    syncStatus: r.syncStatus ?? 0,
    fuzzy: r.fuzzy,
  }))
export type ScoreRecord = z.output<typeof scoreRecord>

/** One score to delete. */
export const scoreKey = z
  .strictObject({ ...idNames, level, ...IGNORED })
  .meta(either('musicId', 'music_id', 'id'))
  .transform((r, context) => ({
    musicId: oneOf({ musicId: r.musicId, music_id: r.music_id, id: r.id }, context),
    level: r.level,
  }))
export type ScoreKey = z.output<typeof scoreKey>

/** A body with a list, whose records are judged one by one later. A bare object counts as a list of one record. */
export function musicList(limit: number) {
  return z.preprocess((body) => (isBare(body) ? { musicList: [body] } : body), listOf(z.unknown(), limit))
}

/** The same body with the form of its records, for the document. */
export function musicListOf(record: z.ZodType, limit: number) {
  return z.union([listOf(record, limit), record])
}

function listOf<T extends z.ZodType>(record: T, limit: number) {
  return z.strictObject({ musicList: z.array(record).min(1).max(limit), ...IGNORED })
}

function isBare(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && !Object.hasOwn(body, 'musicList')
}

const chargeId = z.literal([2, 3, 5])

/** `maxStock` is the most that the client wants to own. The service's own maximum applies as well. */
export const chargeBody = z
  .strictObject({
    chargeId: chargeId.optional(),
    charge: chargeId.optional(),
    max_stock: z.int().min(1).max(999).optional(),
    ...IGNORED,
  })
  .meta(only('chargeId', 'charge'))
  .transform((r, context) => ({
    chargeId: oneOf({ chargeId: r.chargeId, charge: r.charge }, context),
    maxStock: r.max_stock,
  }))

export const emptyBody = z.strictObject({ ...IGNORED })
export const itemListBody = z.strictObject({ itemKind: z.int().min(1).max(15).optional(), ...IGNORED })
export const clearBody = z.strictObject({ confirm: z.literal(true), ...IGNORED })

/** A token of 1 to 8192 characters that a header of HTTP can carry. The platform decides whether it is one of its own. */
const platformToken = z
  .string({ error: 'expected a token' })
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?$/, {
    error: 'expected visible ASCII characters, 8192 at most, and no space at an end',
  })
  .describe(
    "What the platform takes: the user's own key or import token, or an access token of OAuth, which is a JWT or begins with Bearer and a space.",
  )

/** @param field the field that holds the user's token for the platform */
export function updateBody<F extends 'key' | 'token'>(field: F) {
  const mode = z.enum(['pull', 'push', 'both'], { error: 'expected pull, push or both' }).default('pull')
  return z
    .strictObject({ [field as 'key']: platformToken, mode, ...IGNORED })
    .transform((body) => ({ token: body[field as 'key'], mode: body.mode }))
}

/** Reads a body by its schema. The result is the body, or the refusal `invalid_request`. */
export function readBy<T>(schema: z.ZodType<T>, body: unknown): T | Refusal {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const details = detailsOf(parsed.error)
  return refuse('invalid_request', `${details[0]?.field}: ${details[0]?.problem}`, details)
}

/** The most characters of a field or a problem: enough for any sentence here, too few to repeat a hostile body. */
const MAX_PROBLEM = 200

/** The problems that a schema found, one entry for each issue. */
export function detailsOf(error: z.ZodError): { field: string; problem: string }[] {
  return error.issues.map((issue) => ({
    field: (issue.path.length > 0 ? issue.path.join('.') : unknownKey(issue)).slice(0, MAX_PROBLEM),
    problem: issue.message.slice(0, MAX_PROBLEM),
  })) satisfies Detail[]
}

function unknownKey(issue: z.core.$ZodIssue): string {
  return issue.code === 'unrecognized_keys' ? (issue.keys[0] ?? '') : 'body'
}
