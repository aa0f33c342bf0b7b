import type { Scope } from '../../contract/api.ts'
import { isSoft, type LimitValue, NO_LIMIT } from '../../quota/limit-value.ts'
import { exact, t, windowName } from '../i18n/text.ts'
import { SCOPE_WORDS } from './scope.ts'

/** Whether a value of a change is a limit: a number, a soft limit or `unlimited`. */
export function isLimit(value: unknown): value is LimitValue {
  return typeof value === 'number' || value === NO_LIMIT || isSoft(value)
}

/** `1,000`, `1,000 (and 200 over)` or `no limit`. */
export function limitWords(value: LimitValue): string {
  if (value === NO_LIMIT) return t('override.noLimit')
  if (!isSoft(value)) return exact(value)
  return value.over === 0 ? exact(value.limit) : `${exact(value.limit)} ${t('word.over', { over: exact(value.over) })}`
}

interface NamedLimit {
  readonly scope: Scope
  readonly category?: string
  readonly window: string
}

/** `Personal read 1 hour`, without the category if the page already names it. */
export function limitName({ scope, category, window }: NamedLimit): string {
  return [t(SCOPE_WORDS[scope]), category, windowName(window)].filter((part) => part !== undefined).join(' ')
}
