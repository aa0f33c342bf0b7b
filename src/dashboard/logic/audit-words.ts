import type { Language } from './format.ts'

const UNITS: Readonly<Record<string, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' }

/** The name of a window in words: `1 hour` for `1h`. Another name stays as it is. */
export function windowWords(language: Language, name: string): string {
  const [, count, letter = ''] = /^(\d+)([smhdw])$/.exec(name) ?? []
  const unit = UNITS[letter]
  if (count === undefined || unit === undefined) return name
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(Number(count))
}

const STEPS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** How long ago something was: `5 minutes ago`, `now`. */
export function agoWords(language: Language, ms: number): string {
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  const [unit, size] = STEPS.find(([, size]) => ms >= size) ?? ['second', Number.POSITIVE_INFINITY]
  return relative.format(-Math.floor(ms / size), unit)
}
