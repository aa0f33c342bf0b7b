export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return (low + high) / 2
}

/** Ratios round by round, so that a machine that slows down for a while slows both sides of each. */
export function ratios<T>(a: readonly T[], b: readonly T[], value: (one: T) => number): number[] {
  return paired(a, b, (x, y) => value(x) / value(y))
}

/** @throws Error if the lists have different numbers of rounds */
export function paired<A, B>(a: readonly A[], b: readonly B[], of: (a: A, b: B) => number): number[] {
  if (a.length !== b.length) throw new Error(`${a.length} rounds cannot be compared with ${b.length}`)
  return a.map((one, round) => of(one, b[round] as B))
}
