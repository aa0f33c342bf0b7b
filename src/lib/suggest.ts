/** The known word that was probably meant, or `null`. */
export function suggest(word: string, known: Iterable<string>): string | null {
  // No known word is longer, and the comparison stays cheap.
  if (word.length > 64) return null
  let best: string | null = null
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const distance = distanceOf(fold(word), fold(candidate))
    // Half of a short word may agree by chance: 5h is not a misspelt 1h.
    if (distance < least && distance * 2 < Math.max(word.length, 1)) [best, least] = [candidate, distance]
  }
  return best
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = suggest(word, known)
  return meant === null ? '' : `; did you mean "${meant}"?`
}

/** Makes `connectTimeout`, `connect-timeout` and `connect_timeout` the same text. */
function fold(word: string): string {
  return word.toLowerCase().replace(/[_-]/g, '')
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours count one each. */
function distanceOf(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(beforeLast, j - 2) + 1)
      row.push(cost)
    }
    ;[beforeLast, last] = [last, row]
  }
  return at(last, b.length)
}

function at(row: readonly number[], i: number): number {
  return row[i] ?? 0
}
