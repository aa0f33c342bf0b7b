/** The part of its runs that a property has: `npm run properties` sets it, `npm test` takes the default. */
const PART = Number(process.env.TOLLGATE_RUNS ?? 0.25)

/**
 * How often a property is tried, with other cases each time.
 *
 * @param whole in `npm run properties`
 */
export function runs(whole: number): number {
  return Math.ceil(whole * PART)
}
