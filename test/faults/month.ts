import { LONGEST_SECONDS, periodOf } from '../../src/quota/calendar.ts'
import type { Window } from '../../src/quota/window.ts'

/** Longer than any file of tests takes, in milliseconds. */
const FAR_MS = 3_600_000

/** The month of Kathmandu. Within its last hour that of St. John's, which ends nine hours later: no test is to run into its end. */
export function monthFarFromItsEnd(now = Date.now()): Window & Required<Pick<Window, 'calendar'>> {
  const month = (zone: string) => ({ unit: 'month', zone }) as const
  const kathmandu = month('Asia/Kathmandu')
  const isNear = periodOf(kathmandu, now).to - now < FAR_MS
  return { name: 'month', seconds: LONGEST_SECONDS.month, calendar: isNear ? month('America/St_Johns') : kathmandu }
}
