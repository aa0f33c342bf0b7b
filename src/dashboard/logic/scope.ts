import type { Scope } from '../../contract/api.ts'
import { t } from '../i18n/text.ts'
import type { ChartSeries } from './series.ts'

/** The key of the text that names each scope. */
export const SCOPE_WORDS = {
  Personal: 'word.personal',
  Organisation: 'word.organisation',
  Global: 'word.global',
} as const satisfies Record<Scope, string>

export const SCOPES = ['Personal', 'Organisation', 'Global'] as const satisfies readonly Scope[]

/** The series of a chart with a value for each scope, in this order. */
export function scopeSeries(): readonly ChartSeries[] {
  const tones = { Personal: 'personal', Organisation: 'organisation', Global: 'global' } as const
  return SCOPES.map((scope) => ({ label: t(SCOPE_WORDS[scope]), tone: tones[scope] }))
}
