/** Achievements are kept as integers: percent x 10000, so 100.5 % is 1005000. */

/** The highest achievement on one chart: 101 %. */
export const MAX_ACHIEVEMENT = 1_010_000
/** The highest achievement on a buddy utage chart, which two players play as one: 202 %. */
export const MAX_BUDDY_ACHIEVEMENT = 2 * MAX_ACHIEVEMENT

/** From this integer on a number is percent x 10000 and not percent. */
const FIRST_INTERNAL = 10_000n

/** A JSON number without a minus sign, also with a percent sign after it. */
const NUMBER = /^(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?(%)?$/
/** No achievement is longer, and the bound keeps the big integers small. */
const MAX_LENGTH = 64

/**
 * Reads an achievement in any form that a client may send. A value from 0 to the maximum in percent is percent, rounded
 * half up to 4 decimals. An integer from 10000 to the maximum is percent x 10000. Anything else is `null`. The
 * arithmetic is exact: 100.49995 is 1005000 and never 1004999.
 * @param max the chart's maximum: MAX_ACHIEVEMENT or MAX_BUDDY_ACHIEVEMENT
 */
export function parseAchievement(text: string, max: number): number | null {
  const sent = fractionOf(text)
  if (sent === null) return null
  const percent = inPercent(sent, max)
  if (percent !== null) return percent
  const { top, bottom, isPercent } = sent
  if (isPercent || top % bottom !== 0n) return null
  const value = top / bottom
  return value >= FIRST_INTERNAL && value <= BigInt(max) ? Number(value) : null
}

/**
 * Reads an achievement in percent only, as the public platforms write it.
 * @returns percent x 10000, rounded half up; `null` for anything but a number from 0 to the maximum
 */
export function parsePercent(text: string, max: number): number | null {
  const sent = fractionOf(text)
  return sent && inPercent(sent, max)
}

/** The percentage as the public platforms write it: 1005000 is 100.5. The quotient is the double nearest to the exact value. */
export function percentOf(achievement: number): number {
  return achievement / 10_000
}

/** A number with its exact value: top / bottom, both integers. */
interface Fraction {
  readonly top: bigint
  readonly bottom: bigint
  /** Whether a percent sign followed it. */
  readonly isPercent: boolean
}

function fractionOf(text: string): Fraction | null {
  const match = text.length <= MAX_LENGTH ? NUMBER.exec(text) : null
  if (match === null) return null
  const [, whole = '', decimals = '', exponent = '0', percentSign] = match
  const shift = Number(exponent) - decimals.length
  return {
    top: BigInt(whole + decimals) * 10n ** BigInt(Math.max(shift, 0)),
    bottom: 10n ** BigInt(Math.max(-shift, 0)),
    isPercent: percentSign !== undefined,
  }
}

function inPercent({ top, bottom }: Fraction, max: number): number | null {
  return top * 10_000n <= BigInt(max) * bottom ? Number((top * 20_000n + bottom) / (2n * bottom)) : null
}

/** Lower bounds of the ranks D to SSS+ in percent x 10000; the position is the rank's number. */
const RANKS = [0, 50, 60, 70, 75, 80, 90, 94, 97, 98, 99, 99.5, 100, 100.5].map((percent) => percent * 10_000)

/** The rank of an achievement: 0 for D to 13 for SSS+. */
export function scoreRank(achievement: number): number {
  return RANKS.findLastIndex((bound) => achievement >= bound)
}
