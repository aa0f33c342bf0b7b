import { RATES } from '../music/labels.ts'
import { COMBO, SYNC } from '../music/lamps.ts'

/** The words of LXNS, of Diving-Fish and of the game for the same thing, in any letter case. */

export type ChartType = 'standard' | 'dx' | 'utage'

const TYPES = new Map<string, ChartType>([
  ['sd', 'standard'],
  ['std', 'standard'],
  ['standard', 'standard'],
  ['dx', 'dx'],
  ['deluxe', 'dx'],
  ['utage', 'utage'],
  ['宴', 'utage'],
  ['宴会場', 'utage'],
  ['宴会场', 'utage'],
])

/** `null` without a type, `undefined` for an unknown word. */
export function typeOf(word: string | null | undefined): ChartType | null | undefined {
  return word == null ? null : TYPES.get(plain(word))
}

/** The game's number; `undefined` for a word that is no lamp. */
export function comboOf(word: string | null | undefined): number | undefined {
  return COMBO.get(plain(word) || 'none')
}

/** The game's number; `undefined` for a word that is no lamp. */
export function syncOf(word: string | null | undefined): number | undefined {
  const name = plain(word)
  return SYNC.get(name === 'syncplay' ? 'sync' : name || 'none')
}

/** The rate; `undefined` for an unknown word, and without one. */
export function rateIn(word: string | null | undefined): string | undefined {
  const name = plain(word)
  return RATES.find((rate) => rate === name)
}

/** `AP+` is `app`, and `SYNC PLAY` is `syncplay`. */
function plain(word: string | null | undefined): string {
  return (word ?? '')
    .toLowerCase()
    .replaceAll('+', 'p')
    .replace(/[\s_-]/g, '')
}
