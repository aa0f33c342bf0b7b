/** Quantities as people write them, and back. */

/** The result of parsing a text: its meaning, or what is wrong. */
export type Reading<T> = { readonly value: T } | { readonly problem: string }

const DURATIONS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const SIZES = { B: 1, KB: 1e3, KiB: 2 ** 10, MB: 1e6, MiB: 2 ** 20, GB: 1e9, GiB: 2 ** 30 } as const

export const DURATION = /^(\d{1,12})(ms|s|m|h|d)$/
export const SIZE = /^(\d{1,12})(B|KB|KiB|MB|MiB|GB|GiB)$/
export const PERCENTAGE = /^(\d{1,3}(?:\.\d{1,6})?)%$/

/** `250ms`, `2s`, `5m`, `1h`, `1d` in milliseconds. */
export function parseDuration(text: string): Reading<number> {
  const [, count, unit] = DURATION.exec(text) ?? []
  if (count === undefined) return { problem: 'is not a duration: write a whole number and ms, s, m, h or d, like 30s' }
  return { value: Number(count) * DURATIONS[unit as keyof typeof DURATIONS] }
}

/** In the largest unit without a fraction. @param ms whole milliseconds, 0 or more */
export function formatDuration(ms: number): string {
  return inLargestUnit(ms, DURATIONS, 's')
}

/** `512B`, `64KB` (1000), `64KiB` (1024), MB, MiB, GB, GiB in bytes. */
export function parseSize(text: string): Reading<number> {
  const [, count, unit] = SIZE.exec(text) ?? []
  if (count === undefined) {
    return { problem: 'is not a size: write a whole number and B, KB, KiB, MB, MiB, GB or GiB, like 64KiB' }
  }
  return { value: Number(count) * SIZES[unit as keyof typeof SIZES] }
}

/** In the largest unit without a fraction. @param bytes 0 or more */
export function formatSize(bytes: number): string {
  return inLargestUnit(bytes, SIZES, 'B')
}

/** `10%` as 0.1. */
export function parsePercentage(text: string): Reading<number> {
  const percent = Number(PERCENTAGE.exec(text)?.[1])
  return percent > 0 && percent <= 100
    ? { value: percent / 100 }
    : { problem: 'is not a percentage above 0% and up to 100%: write one like 10%' }
}

function inLargestUnit(amount: number, units: Readonly<Record<string, number>>, ofZero: string): string {
  if (amount === 0) return `0${ofZero}`
  const [unit = '', size = 1] = Object.entries(units).reduce((best, next) =>
    amount % next[1] === 0 && next[1] > best[1] ? next : best,
  )
  return `${amount / size}${unit}`
}
