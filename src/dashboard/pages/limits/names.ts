import type { SettingsInForceResponse } from '../../../contract/api.ts'
import { t, windowName } from '../../i18n/text.ts'
import { namesOf, type Value } from '../../logic/settings.ts'
import { changedValue } from '../audit/values.tsx'

/** The dotted path of a value in words: `Baselines: Personal read 1h`. */
export function nameOf(path: string): string {
  if (path === 'mode') return t('quotas.mode')
  if (path === 'global.enabled') return t('quotas.globalEnabled')
  if (path === 'global.multiplier') return t('quotas.multiplier')
  if (path === 'shadow') return t('quotas.shadow')
  const names = namesOf(path)
  const [table = '', plan = ''] = names
  const above =
    table === 'plans' ? t('plans.name', { plan }) : t(table === 'custom' ? 'quotas.custom' : 'quotas.baselines')
  const [scope, category = '', window] = names.slice(table === 'plans' ? 2 : 1)
  // A whole table.
  if (window === undefined) return table === 'plans' && plan === '' ? t('plans.title') : above
  return `${above}: ${t(wordOf(scope))} ${category} ${windowName(window)}`
}

/** The word for a scope of the settings. */
export function wordOf(scope: string | undefined): 'word.global' | 'word.organisation' | 'word.personal' {
  return scope === 'global' || scope === 'organisation' ? `word.${scope}` : 'word.personal'
}

export function shownValue(value: Value): string {
  return changedValue('mode', value)
}

export const SCOPES = ['personal', 'global'] as const

/** The configured windows by name, shortest first. */
export function windowNames(quota: SettingsInForceResponse): string[] {
  return quota.windowLengths.map(({ name }) => name)
}
