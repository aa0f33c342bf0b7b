import { decimal, ONE } from './decimal.ts'
import type { Limit, Window } from './window.ts'

/** Tokens of one limit: sums of limits stay exact in a double, in Lua too. */
export const MAX_LIMIT = 1e12

/**
 * A limit times what multiplies it: the factor of a mode, a multiplier, the factor of an override. Rounded down, at least 1 and at
 * most `MAX_LIMIT`, and 0 if the limit or a factor is. In decimal, as an administrator reads it: in binary 100 x 1.1 is
 * 110.00000000000001 and 0.29 x 100 is 28.999999999999996.
 */
export function multiplied(limit: number, factor: number, multiplier = 1): number {
  if (factor === 0 || multiplier === 0 || limit === 0) return 0
  return Math.min(MAX_LIMIT, Math.max(1, Number(scaled(limit, factor, multiplier) / (ONE * ONE))))
}

/** What was written of a limit: what is promised, and what passes beyond that. */
export interface Written {
  readonly value: number
  /** Default 0. */
  readonly over?: number | undefined
}

/** The limit that this makes: both parts are multiplied. Where nothing is promised, nothing passes beyond. */
export function limitOf(window: Window, { value, over = 0 }: Written, factor = 1, multiplier = 1): Limit {
  const limit = multiplied(value, factor, multiplier)
  const beyond = limit === 0 ? 0 : Math.min(multiplied(over, factor, multiplier), MAX_LIMIT - limit)
  return beyond === 0 ? { window, limit } : { window, limit: limit + beyond, over: beyond }
}

/** Whether `multiplied` takes the product as it is. */
export function isExact(limit: number, factor: number, multiplier = 1): boolean {
  return scaled(limit, factor, multiplier) === BigInt(multiplied(limit, factor, multiplier)) * ONE * ONE
}

function scaled(limit: number, factor: number, multiplier: number): bigint {
  return BigInt(limit) * decimal(factor) * decimal(multiplier)
}
