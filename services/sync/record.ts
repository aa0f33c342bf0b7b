import { RATES, strongerCombo, strongerSync } from '../music/labels.ts'

/** One score as it is stored; the key is (songId, levelIndex). */
export interface ScoreRecord {
  readonly songId: number
  readonly levelIndex: number
  readonly title: string
  /** The level as it is displayed, for example `13+`. */
  readonly level: string
  readonly levelLabel: string
  /** The chart's constant in tenths; 0 if it is unknown. */
  readonly constant: number
  /** Percent x 10000. */
  readonly achievement: number
  readonly ra: number
  /** The rank of the achievement, from `d` (lowest) to `sssp` (highest). */
  readonly rate: string
  readonly dxScore: number
  /** The game's numbers of the combo lamp and of the sync lamp; see lamps.ts. */
  readonly combo: number
  readonly sync: number
}

export function keyOf({ songId, levelIndex }: Pick<ScoreRecord, 'songId' | 'levelIndex'>): string {
  return `${songId}/${levelIndex}`
}

/** Of two records of one key, the one with the larger (achievement, DX score). Other fields break ties, so the order of the two never matters. */
export function larger<T extends ScoreRecord>(a: T, b: T): T {
  return compare(a, b) >= 0 ? a : b
}

function compare(a: ScoreRecord, b: ScoreRecord): number {
  return (
    a.achievement - b.achievement ||
    a.dxScore - b.dxScore ||
    a.combo - b.combo ||
    compareSync(a.sync, b.sync) ||
    a.ra - b.ra ||
    compareText(wordsOf(a), wordsOf(b))
  )
}

function compareSync(a: number, b: number): number {
  if (a === b) return 0
  return strongerSync(a, b) === a ? 1 : -1
}

function compareText(a: string, b: string): number {
  return Number(a > b) - Number(a < b)
}

function wordsOf({ title, level, levelLabel, constant, rate }: ScoreRecord): string {
  return JSON.stringify([title, level, levelLabel, constant, rate])
}

/** The best of each field. Titles, level and constant are those of `sent`, or of `before` where `sent` has none. */
export function best(before: ScoreRecord, sent: ScoreRecord): ScoreRecord {
  return {
    songId: sent.songId,
    levelIndex: sent.levelIndex,
    title: sent.title || before.title,
    level: sent.level || before.level,
    levelLabel: sent.levelLabel || before.levelLabel,
    constant: sent.constant || before.constant,
    achievement: Math.max(before.achievement, sent.achievement),
    ra: Math.max(before.ra, sent.ra),
    rate: RATES.indexOf(before.rate) > RATES.indexOf(sent.rate) ? before.rate : sent.rate,
    dxScore: Math.max(before.dxScore, sent.dxScore),
    combo: strongerCombo(before.combo, sent.combo),
    sync: strongerSync(before.sync, sent.sync),
  }
}

export function isSame(a: ScoreRecord, b: ScoreRecord): boolean {
  return compare(a, b) === 0
}
