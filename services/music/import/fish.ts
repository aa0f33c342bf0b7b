import * as z from 'zod'
import type { SongInput } from '../catalogue-file.ts'
import { fromFish, kindOf } from '../ids.ts'
import { addNotes, type Notes } from './notes.ts'

/** `music_data` of Diving-Fish: an array of songs. A DX song is an entry of its own, with its own id. */

const chart = z.object({
  /** Tap, hold, slide, touch and break; standard charts have no touch. */
  notes: z.array(z.int().min(0)).min(4).max(5),
  charter: z.string(),
})
type FishChart = z.output<typeof chart>

const NO_ID = 'expected the number of a song'

export const fishSong = z
  .object({
    id: z.union([z.int(), z.string().regex(/^\d{1,6}$/, { error: NO_ID, abort: true })], { error: NO_ID }),
    title: z.string(),
    type: z.enum(['SD', 'DX']),
    ds: z.array(z.number()),
    level: z.array(z.string()),
    charts: z.array(chart).min(1),
    basic_info: z.object({
      artist: z.string(),
      genre: z.string(),
      bpm: z.number(),
      from: z.string(),
      is_new: z.boolean(),
    }),
  })
  .check(({ value, issues }) => {
    const problem = problemOf(value)
    if (problem !== null) issues.push({ code: 'custom', input: value, ...problem })
  })
type FishSong = z.output<typeof fishSong>

function problemOf(song: FishSong): { path: PropertyKey[]; message: string } | null {
  const { type, ds, level, charts } = song
  const kind = kindOf(musicIdOf(song))
  if (kind === 'dx' && type === 'SD') return { path: ['type'], message: 'the id is that of a DX song' }
  for (const [name, each] of [
    ['ds', ds],
    ['level', level],
  ] as const) {
    if (each.length !== charts.length)
      return { path: [name], message: `has ${each.length} values for ${charts.length} charts` }
  }
  const most = kind === 'utage' ? 2 : 5
  if (charts.length > most) return { path: ['charts'], message: `expected at most ${most} charts of this song` }
  // With four numbers for a DX chart it would be unknown which of the five is missing.
  const length = { standard: 4, dx: 5, utage: null }[kind]
  const odd = length === null ? -1 : charts.findIndex(({ notes }) => notes.length !== length)
  return odd < 0 ? null : { path: ['charts', odd, 'notes'], message: `expected ${length} numbers of this song` }
}

function musicIdOf({ id, type }: FishSong): number {
  return fromFish({ songId: Number(id), type, levelIndex: 0 }).musicId
}

export function songOfFish(song: FishSong): SongInput {
  const { title, charts, basic_info: info } = song
  const musicId = musicIdOf(song)
  const kind = kindOf(musicId)
  return {
    musicId,
    title,
    artist: info.artist,
    genre: info.genre,
    bpm: info.bpm,
    version: info.from,
    type: kind,
    isNew: info.is_new,
    charts: kind === 'utage' ? [chartOf(song, charts, 0)] : charts.map((each, index) => chartOf(song, [each], index)),
  }
}

/** @param charts one, or the two sides of a buddy utage, which is one chart in the game */
function chartOf(song: FishSong, charts: readonly FishChart[], index: number): SongInput['charts'][number] {
  const notes = addNotes(charts.map(notesOf))
  const { level } = fromFish({ songId: musicIdOf(song), type: song.type, levelIndex: index })
  return {
    level,
    levelLabel: song.level[index] ?? '',
    ds: song.ds[index] ?? 0,
    designer: [...new Set(charts.map(({ charter }) => charter))].join(' / '),
    notes,
    maxDxScore: 3 * notes.total,
    ...(charts.length > 1 && { buddy: true }),
  }
}

function notesOf({ notes }: FishChart): Notes {
  const [tap = 0, hold = 0, slide = 0, ...others] = notes
  return { tap, hold, slide, touch: others.length > 1 ? (others[0] ?? 0) : 0, break: others.at(-1) ?? 0 }
}
