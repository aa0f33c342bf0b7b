/** The names of one chart in the game and on the two public platforms. */

export type Kind = 'standard' | 'dx' | 'utage'

/** The game's name of a chart. `level` is the difficulty, from 0 (BASIC) to 4 (Re:MASTER), or 10 for utage. */
export interface ChartId {
  readonly musicId: number
  readonly level: number
}

/** LXNS gives a song and its DX version one id; an utage chart keeps its own of six digits. */
export interface LxnsChart {
  readonly id: number
  readonly type: Kind
  readonly levelIndex: number
}

/** Diving-Fish sends utage as DX. */
export interface FishChart {
  readonly songId: number
  readonly type: 'SD' | 'DX'
  readonly levelIndex: number
}

export const UTAGE = 10

const FIRST_DX = 10_000
const FIRST_UTAGE = 100_000

export function kindOf(musicId: number): Kind {
  if (musicId > FIRST_UTAGE) return 'utage'
  return musicId > FIRST_DX ? 'dx' : 'standard'
}

/** Whether a number can be that of a song: 1 to 9999, 10001 to 19999, or six digits for utage. */
export function isSongId(id: number): boolean {
  return (id >= 1 && id < FIRST_DX) || (id > FIRST_DX && id < 2 * FIRST_DX) || (id > FIRST_UTAGE && id <= 999_999)
}

export function toLxns({ musicId, level }: ChartId): LxnsChart {
  const type = kindOf(musicId)
  if (type === 'utage') return { id: musicId, type, levelIndex: 0 }
  return { id: musicId % FIRST_DX, type, levelIndex: level }
}

export function fromLxns({ id, type, levelIndex }: LxnsChart): ChartId {
  if (type === 'utage') return { musicId: id, level: UTAGE }
  return { musicId: (id % FIRST_DX) + (type === 'dx' ? FIRST_DX : 0), level: levelIndex }
}

export function toFish({ musicId, level }: ChartId): FishChart {
  const isUtage = kindOf(musicId) === 'utage'
  return { songId: musicId, type: musicId < FIRST_DX ? 'SD' : 'DX', levelIndex: isUtage ? 0 : level }
}

export function fromFish({ songId, type, levelIndex }: FishChart): ChartId {
  const musicId = type === 'DX' && songId < FIRST_DX ? songId + FIRST_DX : songId
  return { musicId, level: kindOf(musicId) === 'utage' ? UTAGE : levelIndex }
}
