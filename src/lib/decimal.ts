import { NUMBER } from './json-scalar.ts'

/** Exact products of decimal numbers. With doubles, 0.07 times 100 is a little more than 7, so it would be rounded up to 8. */

/** With more places than this a product is far above every bound, or nearly 0. */
const MAX_PLACES = 1000

/**
 * The product, rounded up to the next whole number. A product far above every bound is `Infinity`, and a negative one is 0.
 * @param number as JSON writes it
 * @param factor above 0
 */
export function productRoundedUp(number: string, factor: number): number {
  const [digits, places] = decimal(number)
  const [times, more] = decimal(String(factor))
  const product = digits * times
  const exponent = places + more
  if (product <= 0n) return 0
  if (exponent > MAX_PLACES) return Number.POSITIVE_INFINITY
  if (exponent < -MAX_PLACES) return 1
  if (exponent >= 0) return Number(product * 10n ** BigInt(exponent))
  const unit = 10n ** BigInt(-exponent)
  return Number((product + unit - 1n) / unit)
}

/** Digits, and the power of ten by which they are multiplied. */
function decimal(text: string): [digits: bigint, places: number] {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  return [BigInt(`${sign}${whole}${fraction}`), Number(exponent) - fraction.length]
}
