/** `npm run properties` sets it; without it a property has what is usual in `npm test`. */
const { TOLLGATE_RUNS } = process.env

/**
 * How often a property is tried, with other cases each time.
 *
 * @param whole in `npm run properties`
 * @param usual in `npm test`. Default a quarter; less where each run takes a large part of a second
 */
export function runs(whole: number, usual = whole / 4): number {
  return Math.ceil(TOLLGATE_RUNS === undefined ? usual : whole * Number(TOLLGATE_RUNS))
}
