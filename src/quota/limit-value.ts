import { type LimitTable, UNLIMITED } from './limit-layers.ts'
import { MAX_LIMIT } from './multiplied.ts'

/** A limit as the file, the API and the pages write it. Pure. */

/** Tokens that are promised, and the tokens that pass beyond them. */
export interface SoftLimit {
  readonly limit: number
  readonly over: number
}

export type LimitValue = number | SoftLimit | typeof NO_LIMIT

/** Limits by category, then by the name of the window. */
export type ValueTable = Readonly<Record<string, Readonly<Record<string, LimitValue>>>>

/** The written form of a window without a limit. */
export const NO_LIMIT = 'unlimited'

export function isSoft(value: unknown): value is SoftLimit {
  const { limit, over } = (value ?? {}) as Partial<SoftLimit>
  return typeof limit === 'number' && typeof over === 'number'
}

export function isLimitValue(value: unknown): value is LimitValue {
  return value === NO_LIMIT || (isSoft(value) ? value.limit > 0 && areTokens(value) : isTokens(value))
}

function areTokens({ limit, over, ...others }: SoftLimit): boolean {
  return isTokens(limit) && isTokens(over) && Object.keys(others).length === 0
}

function isTokens(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_LIMIT
}

/** All tokens that pass, whether they are promised or beyond; `UNLIMITED` without a limit. */
export function mostOf(value: LimitValue): number {
  return value === NO_LIMIT ? UNLIMITED : isSoft(value) ? value.limit + value.over : value
}

/** The text of a value in one field: `1000`, `1000 + 200` or `unlimited`. */
export function limitText(value: LimitValue): string {
  return isSoft(value) ? `${value.limit} + ${value.over}` : String(value)
}

/** The value of a text in the form of `limitText`; `null` if the text is no limit. */
export function limitFrom(text: string): LimitValue | null {
  if (text.trim() === NO_LIMIT) return NO_LIMIT
  const [, limit, over] = /^\s*(\d{1,15})\s*(?:\+\s*(\d{1,15}))?\s*$/.exec(text) ?? []
  if (limit === undefined) return null
  const value = over === undefined ? Number(limit) : { limit: Number(limit), over: Number(over) }
  return isLimitValue(value) ? value : null
}

/** Two tables: what is promised, and what passes beyond it. @param rows by category, then window name */
export function tablesOf(rows: Iterable<readonly [string, Iterable<readonly [string, LimitValue]>]>): {
  readonly limits: LimitTable
  /** Contains soft limits only. */
  readonly over: LimitTable
} {
  const [limits, over] = [new Map<string, Map<string, number>>(), new Map<string, Map<string, number>>()]
  for (const [category, row] of rows) {
    const [own, beyond] = [new Map<string, number>(), new Map<string, number>()]
    for (const [window, value] of row) {
      own.set(window, isSoft(value) ? value.limit : value === NO_LIMIT ? UNLIMITED : value)
      if (isSoft(value) && value.over > 0) beyond.set(window, value.over)
    }
    limits.set(category, own)
    if (beyond.size > 0) over.set(category, beyond)
  }
  return { limits, over }
}

/** The value of one window in these tables; `undefined` for none. */
export function valueIn(
  { limits, over }: { readonly limits: LimitTable; readonly over?: LimitTable | undefined },
  category: string,
  window: string,
): LimitValue | undefined {
  const limit = limits.get(category)?.get(window)
  const beyond = over?.get(category)?.get(window)
  if (limit === undefined || limit === UNLIMITED) return limit === undefined ? undefined : NO_LIMIT
  return beyond === undefined ? limit : { limit, over: beyond }
}
