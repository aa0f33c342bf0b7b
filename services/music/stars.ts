/** Least share of the maximum DX score for each star, in percent. */
const STARS = [0, 85, 90, 93, 95, 97]

export const MAX_STAR = STARS.length - 1

/** The least DX score that earns `star` (0 to 5) on a chart: the first integer at or above the star's share. */
export function dxScoreOfStar(star: number, max: number): number {
  return Math.ceil(((STARS[star] ?? 0) * max) / 100)
}
