import { t } from '../i18n/text.ts'

const WORDS = ['baseline', 'custom', 'mode', 'multiplier', 'override'] as const

const RESERVE = ' - reserve'
const PLAN = 'plan '

/** What made a limit, in words: for `baseline x mode` "the configured limit × the mode". An unknown layer stays unchanged. */
export function sourceWords(source: string): string {
  const words = layersOf(source).map(layerWords).join(' × ')
  return source.endsWith(RESERVE) ? t('source.reserve', { source: words }) : words

  function layerWords(layer: string): string {
    const known = WORDS.find((word) => word === layer)
    if (known !== undefined) return t(`source.${known}`)
    if (layer === 'override of organisation') return t('source.organisation')
    const plan = planOf(layer)
    return plan === undefined ? layer : t('source.plan', { plan })
  }
}

/** The plan that made a limit; `undefined` if none did. */
export function planIn(source: string): string | undefined {
  const [first = ''] = layersOf(source)
  return planOf(first)
}

function layersOf(source: string): readonly string[] {
  return (source.endsWith(RESERVE) ? source.slice(0, -RESERVE.length) : source).split(' x ')
}

function planOf(layer: string): string | undefined {
  return layer.startsWith(PLAN) ? layer.slice(PLAN.length) : undefined
}
