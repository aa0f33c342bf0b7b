import { kindOf, toLxns, UTAGE } from '../music/ids.ts'

/** The kind of a song. */
export type Kind = ReturnType<typeof kindOf>

export const KINDS = ['standard', 'dx', 'utage'] as const

const EASY = 1
/** ORIGINAL in the simai notation, which any song may have. Of the game's songs only utage has it. */
const ORIGINAL = 7
const NOT_OF_GAME = new Set([EASY, ORIGINAL])

const DIFFICULTY_NAMES = ['EASY', 'BASIC', 'ADVANCED', 'EXPERT', 'MASTER', 'Re:MASTER', 'ORIGINAL']

/** The name of a chart: the LXNS id of its song, the kind, and the difficulty as simai counts it. */
export interface ChartName {
  readonly chartKey: string
  readonly songId: number
  readonly kind: Kind
  readonly difficulty: number
  readonly musicId: number
  /** The difficulty in the game; `null` for EASY and ORIGINAL, which the game does not have. */
  readonly level: number | null
}

export function nameOf(musicId: number, difficulty: number): ChartName {
  const kind = kindOf(musicId)
  const songId = toLxns({ musicId, level: UTAGE }).id
  const level = kind === 'utage' ? UTAGE : NOT_OF_GAME.has(difficulty) ? null : difficulty - 2
  return { chartKey: `${songId}:${kind}:${difficulty}`, songId, kind, difficulty, musicId, level }
}

/** Utage songs have difficulty 7 and no other. */
export function hasDifficulty(musicId: number, difficulty: number): boolean {
  return kindOf(musicId) !== 'utage' || difficulty === ORIGINAL
}

/** The level, such as `MASTER 12+`; only the difficulty if the displayed level is unknown. */
export function labelOf({ kind, difficulty }: Pick<ChartName, 'kind' | 'difficulty'>, level: string): string {
  return `${kind === 'utage' ? 'UTAGE' : (DIFFICULTY_NAMES[difficulty - 1] ?? '')} ${level}`.trim()
}
