import type { SettingsInForceResponse } from '../../../contract/api.ts'
import { MODES } from '../../../quota/limit-layers.ts'
import type { Texts } from '../../i18n/text.tsx'
import { isLimit, limitWords } from '../../logic/limit-words.ts'
import type { Value } from '../../logic/settings.ts'

/** The dotted path of a value in the words of the page: `Personal read 1h`. */
export function nameOf(path: string, { t, windowName }: Pick<Texts, 't' | 'windowName'>): string {
  if (path === 'mode') return t('quotas.mode')
  if (path === 'global.enabled') return t('quotas.globalEnabled')
  if (path === 'global.multiplier') return t('quotas.multiplier')
  if (path === 'shadow') return t('quotas.shadow')
  const [table, scope, category, window] = path.split('.')
  // A table as a whole.
  if (window === undefined) return table === 'custom' ? t('quotas.custom') : t('quotas.baselines')
  const scopeName = t(scope === 'global' ? 'word.global' : 'word.personal')
  return `${t(table === 'custom' ? 'quotas.custom' : 'quotas.baselines')}: ${scopeName} ${category} ${windowName(window)}`
}

export function shownValue(value: Value, { t, exact }: Pick<Texts, 't' | 'exact'>): string {
  if (value === null) return t('word.none')
  if (typeof value === 'boolean') return t(value ? 'word.on' : 'word.off')
  if (isLimit(value)) return limitWords(value, { t, exact })
  const mode = MODES.find((known) => known === value)
  return mode === undefined ? value : t(`mode.${mode}`)
}

export const SCOPES = ['personal', 'global'] as const

/** The windows of the configuration, by name, shortest first. */
export function windowNames(quota: SettingsInForceResponse): string[] {
  return quota.windowLengths.map(({ name }) => name)
}
