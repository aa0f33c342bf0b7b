/** Counts that are in no series because a process ended before it sent them. */

/** How far back the counts reach that would be lost if a process disappeared. */
export interface Unsent {
  /** How long its counts may have waited in memory, in milliseconds. */
  readonly forMs: number
  /** How long before it was counted a charge may have been made, in milliseconds, because costs may become known late. */
  readonly lateMs: number
}

/**
 * How long counts may be on their way to a series, in milliseconds. They are sent every 2 s, and a process counts as silent after 6 s.
 * So the sums of users, which are charged at once, may be ahead of those of a half hour that has just ended.
 */
export const ON_THE_WAY_MS = 6000

/** A time in which a process may have counted something that is in no series, in milliseconds since the epoch, inclusive. */
export interface Silence {
  readonly from: number
  readonly to: number
}

/** At most `most` silences, sorted by their start. While there are more, the two with the least time between them are joined. */
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
