import { decimal, ONE } from './decimal.ts'

/** Tokens of one limit: sums of limits stay exact in a double, in Lua too. */
export const MAX_LIMIT = 1e12

/** A limit times the factor of an override: rounded down in decimal, at least 1 if the limit is. Factor 0 leaves nothing. */
export function multiplied(limit: number, factor: number): number {
  if (factor === 0 || limit === 0) return 0
  return Math.min(MAX_LIMIT, Math.max(1, Number((BigInt(limit) * decimal(factor)) / ONE)))
}
