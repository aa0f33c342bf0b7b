import type { Language } from './format.ts'

const UNITS: Readonly<Record<string, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' }

/** The name of a window in words: `1 hour` for `1h`. Another name stays as it is. */
export function windowWords(language: Language, name: string): string {
  const [, count, letter = ''] = /^(\d+)([smhdw])$/.exec(name) ?? []
  const unit = UNITS[letter]
  if (count === undefined || unit === undefined) return name
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(Number(count))
}
