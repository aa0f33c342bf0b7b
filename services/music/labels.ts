import { scoreRank } from './achievement.ts'
import { UTAGE } from './ids.ts'

/** Names that the platforms give to levels, ranks and lamps. */

const LEVEL_LABELS = ['Basic', 'Advanced', 'Expert', 'Master', 'Re:MASTER']

/** @param level 0 to 4, or 10 for utage */
export function levelLabel(level: number): string {
  return level === UTAGE ? 'Utage' : (LEVEL_LABELS[level] ?? '')
}

/** The names of the ranks, from the lowest to the highest. */
export const RATES: readonly string[] = 'd c b bb bbb a aa aaa s sp ss ssp sss sssp'.split(' ')

/** The rank of an achievement, from `d` (lowest) to `sssp` (highest). @param achievement percent x 10000 */
export function rateOf(achievement: number): string {
  return RATES[scoreRank(achievement)] ?? 'd'
}

const COMBO_NAMES = ['', 'fc', 'fcp', 'ap', 'app']
const SYNC_NAMES = ['', 'fs', 'fsp', 'fsd', 'fsdp', 'sync']

/** The name of a combo lamp, empty for none. @param combo 0 to 4 */
export function comboName(combo: number): string {
  return COMBO_NAMES[combo] ?? ''
}

/** The name of a sync lamp, empty for none. @param sync the game's number: 0 to 4 in the order of strength, and 5 for the weakest lamp */
export function syncName(sync: number): string {
  return SYNC_NAMES[sync] ?? ''
}

export function strongerCombo(a: number, b: number): number {
  return Math.max(a, b)
}

export function strongerSync(a: number, b: number): number {
  return strengthOfSync(a) >= strengthOfSync(b) ? a : b
}

/** The strength of a lamp: `sync` is stronger than none and weaker than all others, whatever its number. */
function strengthOfSync(sync: number): number {
  return sync === 5 ? 0.5 : sync
}
