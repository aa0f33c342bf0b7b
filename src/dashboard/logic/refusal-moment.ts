/** The refusals of a moment that somebody asks about. Pure. */

interface Lasting {
  /** Of the first and the last refusal, in ISO 8601. */
  readonly first: string
  readonly last: string
}

/** People ask to the minute. */
const MINUTE_MS = 60_000

/** Those of that minute; if there are none, the one that is nearest to it. @param at in ISO 8601, the beginning of the minute */
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
