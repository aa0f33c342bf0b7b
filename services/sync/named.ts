import { keyOf } from './record.ts'
import type { SentRecord } from './schemas/requests.ts'

/**
 * Charts that a request names by records which cannot be stored. A snapshot deletes the scores of charts that it does not
 * name. The scores of these charts stay, because a score is not gone if its record has a mistake.
 */
export interface Named {
  add(sent: SentRecord, key: Key | null): void
  has(key: Key): boolean
  /** Whether a record names no song at all, so that nobody knows which score it means. */
  readonly isUnclear: boolean
}

interface Key {
  readonly songId: number
  readonly levelIndex: number
}

/** A song, its DX version and its utage charts agree in the last four digits of their ids. */
const TYPES = 10_000
const MAX_LEVEL_INDEX = 4
const FIRST_UTAGE = 100_000

export function namedCharts(): Named {
  const keys = new Set<string>()
  const named = {
    isUnclear: false,
    /** @param key the one chart that is meant; `null` if type or level are in doubt, so that every chart is possible */
    add({ song_id, level_index }: SentRecord, key: Key | null): void {
      if (song_id < 1) named.isUnclear = true
      else if (key !== null) keys.add(keyOf(key))
      else keys.add(isLevel(level_index) ? `any ${song_id % TYPES}/${level_index}` : `any ${song_id % TYPES}`)
    },
    has({ songId, levelIndex }: Key): boolean {
      const song = songId % TYPES
      if (keys.has(keyOf({ songId, levelIndex })) || keys.has(`any ${song}`)) return true
      if (songId > FIRST_UTAGE) return LEVELS.some((level) => keys.has(`any ${song}/${level}`))
      return keys.has(`any ${song}/${levelIndex}`)
    },
  }
  return named
}

/** Utage charts number their levels differently from songs, so a record of any level may mean a utage chart. */
const LEVELS = Array.from({ length: MAX_LEVEL_INDEX + 1 }, (_, level) => level)

function isLevel(index: number): boolean {
  return index >= 0 && index <= MAX_LEVEL_INDEX
}
