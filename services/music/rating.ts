import type { Catalogue, Chart } from './catalogue.ts'

/** From this number on a combo lamp means that every note was perfect: AP and AP+. */
const COMBO_AP = 3

/** The number of charts that count: the best old ones and the best new ones. */
const BEST_OLD = 35
const BEST_NEW = 15

/** The achievement (percent x 10000) from which each factor (x 10) holds. */
const FACTORS: readonly (readonly [from: number, factor: number])[] = [
  [0, 0],
  [100_000, 16],
  [200_000, 32],
  [300_000, 48],
  [400_000, 64],
  [500_000, 80],
  [600_000, 96],
  [700_000, 112],
  [750_000, 120],
  [799_999, 128],
  [800_000, 136],
  [900_000, 152],
  [940_000, 168],
  [969_999, 176],
  [970_000, 200],
  [980_000, 203],
  [989_999, 206],
  [990_000, 208],
  [995_000, 211],
  [999_999, 214],
  [1_000_000, 216],
  [1_004_999, 222],
  [1_005_000, 224],
]

/** Anything above 100.5 % adds nothing to the rating. */
const CAP = 1_005_000
/** The scale of the product: tenths of the factor x tenths of the constant x (percent x 10000) x 100. */
const SCALE = 10 * 10 * 10_000 * 100

/**
 * The rating of one chart: floor(factor x constant x min(100.5, percent) / 100).
 * All terms are integers, and their product stays below 2^36, so nothing is rounded before the floor.
 * @param achievement percent x 10000
 * @param constant the chart's constant in tenths: 139 for 13.9
 */
export function chartRating(achievement: number, constant: number): number {
  const factor = FACTORS.findLast(([from]) => achievement >= from)?.[1] ?? 0
  const product = factor * constant * Math.min(CAP, achievement)
  return (product - (product % SCALE)) / SCALE
}

export interface Rating {
  readonly total: number
  readonly old: number
  readonly new: number
}

/** The part of a play's result that the rating needs. */
export interface Earned {
  readonly achievement: number
  /** The combo lamp, 0 to 4. */
  readonly comboStatus: number
}

/** The part of a score that the rating needs. */
export interface Rated extends Earned {
  readonly musicId: number
  readonly level: number
  /** The rating of a chart that the catalogue does not know; such a chart counts as an old one. Default 0. */
  readonly ra?: number
}

/** The player's rating: the best 35 old and the best 15 new charts. Utage counts nothing. */
export function playerRating(scores: readonly Rated[], catalogue: Catalogue): Rating {
  const ratings: { old: number[]; new: number[] } = { old: [], new: [] }
  for (const score of scores) {
    const chart = catalogue.chart(score.musicId, score.level)
    if (chart !== undefined) ratings[chart.isNew ? 'new' : 'old'].push(scoreRating(score, chart, catalogue))
    else ratings.old.push(score.ra ?? 0)
  }
  const sums = { old: sumOfBest(ratings.old, BEST_OLD), new: sumOfBest(ratings.new, BEST_NEW) }
  return { total: sums.old + sums.new, ...sums }
}

/** The rating of a score by the rules of its catalogue: an AP adds to the rating of its achievement. */
export function scoreRating(
  { achievement, comboStatus }: Earned,
  { constant, utage }: Pick<Chart, 'constant' | 'utage'>,
  { rating }: Pick<Catalogue, 'rating'>,
): number {
  const earned = utage ? 0 : chartRating(achievement, constant)
  return earned > 0 && comboStatus >= COMBO_AP ? earned + rating.allPerfect : earned
}

/** The sum of the `count` largest ratings. The order of charts with equal ratings makes no difference to it. */
function sumOfBest(ratings: number[], count: number): number {
  return ratings
    .sort((a, b) => b - a)
    .slice(0, count)
    .reduce((sum, rating) => sum + rating, 0)
}
