/**
 * Factors as an administrator reads them, in decimal: in binary 0.29 x 100 is 28.999999999999996. They count to twelve decimals.
 */
export function decimal(factor: number): bigint {
  return BigInt(Math.round(factor * 1e12))
}

/** `decimal(1)` */
export const ONE = 10n ** 12n

/** `floor(limit x share)`: 29% of 100 is 29. @param share 0 to 1 */
export function portion(limit: number, share: number): number {
  return Number((BigInt(limit) * decimal(share)) / ONE)
}
