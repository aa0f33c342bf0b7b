/** The times of a chart's commas, in seconds from its start. */
export interface Timeline {
  /** The tempo; 0 before the chart has set one. */
  readonly bpm: number
  /** @param bpm above 0 */
  tempo(bpm: number): void
  /** Sets the length of a comma to 1/n of a whole note. @param n above 0 */
  divide(n: number): void
  /** Sets the length of a comma to so many seconds, at any tempo. */
  every(seconds: number): void
  /** Goes on by one comma. */
  step(): void
  now(): number
}

/** The length of a whole note of four beats at 1 bpm, in seconds. */
const WHOLE_NOTE_S = 4 * 60
/** Before the chart sets the length of a comma, it is 1/4 of a whole note. */
const QUARTER = 4
/** Keeps the count of units below 2^53, so that it stays exact. */
const MAX_UNITS_PER_WHOLE = 2 ** 20

/**
 * Commas are counted, not added up. As long as the tempo lasts, the position is a whole number of units, which are a fixed
 * part of a whole note. One product and one division convert it to seconds. Only stretches of different tempo are added, with
 * the rounding error of each sum kept (Neumaier). So the error stays that of a few roundings.
 */
export function createTimeline(): Timeline {
  const passed = createSum()
  let bpm = 0
  let divisor = QUARTER
  /** The length of a comma in seconds; `null` while the tempo decides. */
  let fixed: number | null = null
  let units = 0
  let unitsPerWhole = QUARTER
  let unitsPerStep = 1

  function inStretch(): number {
    if (units === 0) return 0
    return fixed === null ? (units * WHOLE_NOTE_S) / (unitsPerWhole * bpm) : units * fixed
  }

  function beginStretch(): void {
    passed.add(inStretch())
    units = 0
    unitsPerWhole = divisor
    unitsPerStep = 1
  }

  return {
    get bpm() {
      return bpm
    },
    tempo(value) {
      if (value === bpm) return
      beginStretch()
      bpm = value
    },
    divide(n) {
      divisor = n
      const common = commonMultiple(unitsPerWhole, n)
      if (fixed !== null || common > MAX_UNITS_PER_WHOLE) {
        beginStretch()
        fixed = null
        return
      }
      units *= common / unitsPerWhole
      unitsPerWhole = common
      unitsPerStep = common / n
    },
    every(seconds) {
      beginStretch()
      fixed = seconds
    },
    step() {
      units += unitsPerStep
    },
    now: () => passed.with(inStretch()),
  }
}

/** The least common multiple; Infinity if one of the numbers is not whole. */
function commonMultiple(a: number, b: number): number {
  if (!Number.isInteger(a) || !Number.isInteger(b)) return Number.POSITIVE_INFINITY
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return (a / x) * b
}

function createSum() {
  let sum = 0
  let lost = 0
  return {
    add(value: number): void {
      const next = sum + value
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
      sum = next
    },
    with: (value: number) => sum + (lost + value),
  }
}
