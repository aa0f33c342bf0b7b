import type { TextKey } from '../i18n/en.ts'
import type { Texts } from '../i18n/text.tsx'

const WORDS: Readonly<Record<string, TextKey>> = {
  baseline: 'source.baseline',
  custom: 'source.custom',
  mode: 'source.mode',
  multiplier: 'source.multiplier',
  override: 'source.override',
  'override of organisation': 'source.organisation',
}

const RESERVE = ' - reserve'

/** What made a limit, in words: of `baseline x mode` "the configured limit × the mode". A layer that is not known stays as it is. */
export function sourceWords(source: string, t: Texts['t']): string {
  if (source.endsWith(RESERVE)) return t('source.reserve', { source: sourceWords(source.slice(0, -RESERVE.length), t) })
  return source.split(' x ').map(layerWords).join(' × ')

  function layerWords(layer: string): string {
    const key = WORDS[layer]
    if (key !== undefined) return t(key)
    return layer.startsWith('plan ') ? t('source.plan', { plan: layer.slice('plan '.length) }) : layer
  }
}
