import { didYouMean } from '../lib/suggest.ts'
import { quote } from './problems.ts'
import type { Reading } from './units.ts'

/** A name that `Intl` knows, as it is written. */
export function parseTimeZone(text: string): Reading<string> {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return { value: text }
  } catch {
    const meant = didYouMean(text, Intl.supportedValuesOf('timeZone'))
    return { problem: `${quote(text)} is not a time zone: write an IANA name like Asia/Shanghai${meant}` }
  }
}
