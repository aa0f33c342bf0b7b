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

/** The type that a word means; `null` without a word, `undefined` for an unknown one. */
export function typeOf(word: string | null | undefined): ChartType | null | undefined {
  return word == null ? null : TYPES.get(plain(word))
}

/** The game's number of a combo lamp, 0 without a word; `undefined` for a word that is no lamp. */
export function comboOf(word: string | null | undefined): number | undefined {
  return COMBO.get(plain(word) || 'none')
}

/** The game's number of a sync lamp, 0 without a word; `undefined` for a word that is no lamp. */
export function syncOf(word: string | null | undefined): number | undefined {
  const name = plain(word)
  return SYNC.get(name === 'syncplay' ? 'sync' : name || 'none')
}

/** The rank that a word names; `undefined` for an unknown word, and without a word. */
export function rateIn(word: string | null | undefined): string | undefined {
  const name = plain(word)
  return RATES.find((rate) => rate === name)
}

/** The plain form of a word: `AP+` becomes `app`, and `SYNC PLAY` becomes `syncplay`. */
function plain(word: string | null | undefined): string {
  return (word ?? '')
    .toLowerCase()
    .replaceAll('+', 'p')
    .replace(/[\s_-]/g, '')
}
