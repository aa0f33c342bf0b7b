import { timeOf } from '../usage/usage-query.ts'
import { UsageError } from './usage-error.ts'

/**
 * The time that an option names, in milliseconds since the epoch. A day alone means its first moment in UTC.
 * @param or what the option takes besides. Default nothing
 * @throws UsageError for any other text
 */
export function momentOf(option: string, text: string, or = ''): number {
  const at = timeOf(text)
  if (at === null) throw new UsageError(`--${option} takes a time such as 2026-10-10T12:00:00Z${or}`)
  return at
}
