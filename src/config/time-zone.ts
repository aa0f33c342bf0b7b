import { didYouMean } from '../lib/suggest.ts'
import { quote } from './problems.ts'
import type { Reading } from './units.ts'

/** The time zone if the file names none. */
export const TIME_ZONE = 'Asia/Shanghai'

/** A name that `Intl` knows, unchanged. */
export function parseTimeZone(text: string): Reading<string> {
  // The first use of `Intl` loads much data, which would delay a start.
  if (text === TIME_ZONE) return { value: text }
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return { value: text }
  } catch {
    const meant = didYouMean(text, Intl.supportedValuesOf('timeZone'))
    return { problem: `${quote(text)} is not a time zone: write an IANA name like ${TIME_ZONE}${meant}` }
  }
}
