/** A factor as a whole number of 10^-12, with which products are exact in decimal. In binary 0.29 x 100 would be 28.999999999999996. */
export function decimal(factor: number): bigint {
  return BigInt(Math.round(factor * 1e12))
}

export const ONE = 10n ** 12n

/** `floor(limit x share)`, so 29% of 100 is 29. @param share 0 to 1 */
export function portion(limit: number, share: number): number {
  return Number((BigInt(limit) * decimal(share)) / ONE)
}
