import type { Scope } from '../../contract/api.ts'
import type { Texts } from '../i18n/text.tsx'
import type { ChartSeries } from './series.ts'

/** The word of each scope, by its key. */
export const SCOPE_WORDS = {
  Personal: 'word.personal',
  Organisation: 'word.organisation',
  Global: 'word.global',
} as const satisfies Record<Scope, string>

/** The series of a chart that has a value of each scope, in this order. */
export function scopeSeries(t: Texts['t']): readonly ChartSeries[] {
  return [
    { label: t('word.personal'), tone: 'personal' },
    { label: t('word.organisation'), tone: 'organisation' },
    { label: t('word.global'), tone: 'global' },
  ]
}
