/** The refusals at a moment in question. Pure. */

interface Lasting {
  /** When the first and the last refusal were, in ISO 8601. */
  readonly first: string
  readonly last: string
}

/** People ask to the minute. */
const MINUTE_MS = 60_000

/** The refusals of that minute, or the nearest one if there are none. @param at the beginning of the minute in ISO 8601 */
export function refusalsAt<T extends Lasting>(
  refusals: readonly T[],
  at: string,
): { readonly isThen: boolean; readonly found: ReadonlySet<T> } {
  const from = Date.parse(at)
  const distance = ({ first, last }: Lasting): number =>
    Math.max(0, Date.parse(first) - (from + MINUTE_MS - 1), from - Date.parse(last))
  const least = Math.min(...refusals.map(distance))
  const near = refusals.filter((refusal) => distance(refusal) === least)
  return { isThen: least === 0, found: new Set(least === 0 ? near : near.slice(0, 1)) }
}
