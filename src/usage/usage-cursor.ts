import { createHash } from 'node:crypto'
import {
  isOfRuns,
  MOST_DAYS,
  readUsageQuery,
  type UsageContext,
  type UsageFields,
  type UsageProblem,
  type UsageQuery,
} from './usage-query.ts'

/** The end of a page. */
export interface UsagePlace {
  /** The cursor of the store's scan; `null` at its beginning, or without a scan. */
  readonly step: string | null
  /** The last shown row of the step or the series; `null` for none. */
  readonly after: RowPlace | null
}

export interface RowPlace {
  readonly name: string
  readonly category: string | null
  readonly place: number
}

export const BEGIN: UsagePlace = { step: null, after: null }

/** A cursor in the form for clients. It is valid only for the same question and range. */
export function writeUsageCursor(query: UsageQuery, { step, after }: UsagePlace): string {
  const row = after === null ? null : [after.name, after.category, after.place]
  return Buffer.from(JSON.stringify([tagOf(query), query.from, query.to, step, row])).toString('base64url')
}

/** The most characters of a cursor. The longest names need fewer. */
const MOST_CHARACTERS = 8192
/** No question can name a later time. Far beyond it a calendar has no periods, because dates end. */
const LATEST = Date.UTC(10_000, 0, 2)

interface ReadCursor extends UsagePlace {
  readonly tag: string
  readonly from: number
  readonly to: number
}

/**
 * The question for one page. A cursor is only accepted for its own question, and supplies the range if the fields name none.
 * @param cursor of the page before; `undefined` for the first
 */
export function readPagedQuery(
  fields: UsageFields,
  cursor: string | undefined,
  context: UsageContext,
): { readonly query: UsageQuery; readonly from: UsagePlace } | { readonly problems: readonly UsageProblem[] } {
  const behind = cursor === undefined ? null : readCursor(cursor)
  if (cursor !== undefined && behind === null) return { problems: [NO_CURSOR] }
  const read = readUsageQuery(fields, { ...context, range: behind ?? undefined })
  if ('problems' in read) return read
  const { query } = read
  if (behind === null) return { query, from: BEGIN }
  return isOf(behind, query) ? { query, from: behind } : { problems: [NO_CURSOR] }
}

const NO_CURSOR = { path: 'cursor', msg: 'must be the `next` of a page of the same question: leave it out to begin' }

/** `null` if the text is no cursor. `isOf` says whether it belongs to this question. */
function readCursor(text: string): ReadCursor | null {
  if (text.length > MOST_CHARACTERS) return null
  const value = parsed(text)
  if (!Array.isArray(value) || value.length !== 5) return null
  const [tag, from, to, step, row] = value as unknown[]
  if (typeof tag !== 'string' || !isTime(from) || !isTime(to) || !isTextOrNull(step)) return null
  if (from >= to || to - from > MOST_DAYS * 86_400_000) return null
  const after = row === null ? null : rowPlaceOf(row)
  return after === undefined ? null : { tag, from, to, step, after }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return null
  }
}

function rowPlaceOf(row: unknown): RowPlace | undefined {
  if (!Array.isArray(row) || row.length !== 3) return
  const [name, category, place] = row as unknown[]
  return typeof name === 'string' && isTextOrNull(category) && isTime(place) ? { name, category, place } : undefined
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= LATEST
}

/** Whether the cursor belongs to this question. */
function isOf({ tag, from, to }: ReadCursor, query: UsageQuery): boolean {
  return tag === tagOf(query) && from === query.from && to === query.to
}

/** Identifies the question without its range, which is stored separately. */
function tagOf({ by, step, name, organisation, category, window, windows, isRanked }: UsageQuery): string {
  const text = JSON.stringify([
    by,
    step,
    name,
    organisation,
    category,
    window?.seconds ?? null,
    windows !== null,
    isRanked,
  ])
  return createHash('sha256').update(text).digest('base64url').slice(0, 8)
}

/** Whether a row comes after a place, in the order of its page. */
export function isBehindRow(row: RowPlace, after: RowPlace, query: Pick<UsageQuery, 'by'>): boolean {
  const keys = ({ name, category, place }: RowPlace): readonly (string | number)[] =>
    isOfRuns(query.by) ? [name, category ?? '', place] : [place, name]
  const [here, there] = [keys(row), keys(after)]
  const at = here.findIndex((key, i) => key !== there[i])
  return at >= 0 && (here[at] as string) > (there[at] as string)
}
