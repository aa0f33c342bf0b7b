import { decimal, ONE } from './decimal.ts'
import type { Limit, Window } from './window.ts'

/** The most tokens of one limit. Sums of such limits stay exact in a double, in Lua too. */
export const MAX_LIMIT = 1e12

/**
 * A limit times the factors that apply to it: of a mode, a multiplier or an override. The product is rounded down, at least 1 and
 * at most `MAX_LIMIT`, and 0 if the limit or a factor is 0. It is calculated in decimal, as an administrator would. In binary 100
 * x 1.1 is 110.00000000000001 and 0.29 x 100 is 28.999999999999996.
 */
export function multiplied(limit: number, factor: number, multiplier = 1): number {
  if (factor === 0 || multiplier === 0 || limit === 0) return 0
  return Math.min(MAX_LIMIT, Math.max(1, Number(scaled(limit, factor, multiplier) / (ONE * ONE))))
}

/** A limit as it was written: the tokens that are promised, and those that pass beyond. */
export interface Written {
  readonly value: number
  /** Default 0. */
  readonly over?: number | undefined
}

/** Makes a limit from a written value, with both parts multiplied. If nothing is promised, nothing passes beyond. */
export function limitOf(window: Window, { value, over = 0 }: Written, factor = 1, multiplier = 1): Limit {
  const limit = multiplied(value, factor, multiplier)
  const beyond = limit === 0 ? 0 : Math.min(multiplied(over, factor, multiplier), MAX_LIMIT - limit)
  return beyond === 0 ? { window, limit } : { window, limit: limit + beyond, over: beyond }
}

/** Whether `multiplied` returns the exact product. */
export function isExact(limit: number, factor: number, multiplier = 1): boolean {
  return scaled(limit, factor, multiplier) === BigInt(multiplied(limit, factor, multiplier)) * ONE * ONE
}

function scaled(limit: number, factor: number, multiplier: number): bigint {
  return BigInt(limit) * decimal(factor) * decimal(multiplier)
}
