/** A problem of a chart and its place: lines and columns of the file count from 1, columns in UTF-16 code units. */
export interface Problem {
  readonly line: number
  readonly column: number
  /** A sentence without a full stop. */
  readonly problem: string
}

/** Turns an offset in the text into a line and a column. A line ends with LF, CR or both. */
export function createLocator(text: string): (offset: number) => { line: number; column: number } {
  const starts = [0, ...Array.from(text.matchAll(/\r\n|\r|\n/g), ({ index, 0: end }) => index + end.length)]
  return (offset) => {
    const line = lastAtOrBelow(starts, offset)
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 }
  }
}

/** The index of the last of the ascending numbers that is not above `limit`. */
function lastAtOrBelow(numbers: readonly number[], limit: number): number {
  let low = 0
  let high = numbers.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) <= limit) low = middle
    else high = middle
  }
  return low
}
