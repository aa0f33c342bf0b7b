/** What is in no series because a process ended before it sent it. */

/** What a process that ends without a word takes with it. */
export interface Unsent {
  /** For how long counts may have waited in its memory, in milliseconds. */
  readonly forMs: number
  /** How long before it was counted something of it was charged, at most, in milliseconds: a cost may be known late. */
  readonly lateMs: number
}

/**
 * How long what was counted may be on its way to a series, in milliseconds: it is sent every 2 s, and a process that sends nothing for
 * 6 s counts as silent. So the sums of users, which are charged, may be ahead of those of a half hour that has just ended.
 */
export const ON_THE_WAY_MS = 6000

/** A time of which a process may have counted what is in no series. Milliseconds since the epoch, both ends in it. */
export interface Silence {
  readonly from: number
  readonly to: number
}

/** At most so many: of more of them the two with the least time between them become one that reaches over both, again and again. */
export function joinedSilences<T extends Silence>(silences: readonly T[], most: number): (T | Silence)[] {
  const left: (T | Silence)[] = silences.toSorted((a, b) => a.from - b.from)
  while (left.length > most) {
    let nearest = 0
    const between = (i: number): number => (left[i + 1]?.from ?? 0) - (left[i]?.to ?? 0)
    for (let i = 1; i < left.length - 1; i++) if (between(i) < between(nearest)) nearest = i
    const [first, second] = left.slice(nearest, nearest + 2) as [Silence, Silence]
    left.splice(nearest, 2, { from: first.from, to: Math.max(first.to, second.to) })
  }
  return left
}
