import * as z from 'zod'
import type { SongInput } from '../catalogue-file.ts'
import { fromLxns, type Kind } from '../ids.ts'
import { addNotes } from './notes.ts'

/** `song/list` of LXNS: a song and its DX version share one entry, and versions are numbers with names in a list of their own. */

const count = z.int().min(0)
const notes = z.object({ tap: count, hold: count, slide: count, touch: count.default(0), break: count })
const NO_NOTES = 'expected the notes of the chart, which the list has when it is asked for with notes=true'

const chart = z.object({
  difficulty: z.int(),
  level: z.string(),
  level_value: z.number(),
  note_designer: z.string(),
  version: z.int(),
  /** A buddy utage has the notes of each player. */
  notes: z.union([notes, z.object({ left: notes, right: notes })], { error: NO_NOTES }),
})
type LxnsChart = z.output<typeof chart>

const charts = z.array(chart).nullish()

export const lxnsSong = z.object({
  id: z.int(),
  title: z.string(),
  artist: z.string(),
  genre: z.string(),
  bpm: z.number(),
  difficulties: z.object({ standard: charts, dx: charts, utage: charts }),
})
type LxnsSong = z.output<typeof lxnsSong>

export const lxnsVersions = z.array(z.object({ title: z.string(), version: z.int() })).default([])
type Versions = z.output<typeof lxnsVersions>

/** The songs of one entry: in the game standard, DX and utage are songs of their own. */
export function songsOfLxns(song: LxnsSong, versions: Versions): { kind: Kind; song: SongInput }[] {
  return (['standard', 'dx', 'utage'] as const).flatMap((kind) => {
    const those = song.difficulties[kind] ?? []
    return those.length === 0 ? [] : [{ kind, song: songOf(song, kind, those, versions) }]
  })
}

function songOf(song: LxnsSong, type: Kind, those: readonly LxnsChart[], versions: Versions): SongInput {
  const { id, title, artist, genre, bpm } = song
  return {
    musicId: fromLxns({ id, type, levelIndex: 0 }).musicId,
    title,
    artist,
    genre,
    bpm,
    version: versionName(Math.min(...those.map(({ version }) => version)), versions),
    type,
    charts: those.map((each) => chartOf(each, fromLxns({ id, type, levelIndex: each.difficulty }).level)),
  }
}

function chartOf(chart: LxnsChart, level: number): SongInput['charts'][number] {
  const isBuddy = 'left' in chart.notes
  const sum = addNotes('left' in chart.notes ? [chart.notes.left, chart.notes.right] : [chart.notes])
  return {
    level,
    levelLabel: chart.level,
    ds: chart.level_value,
    designer: chart.note_designer,
    notes: sum,
    maxDxScore: 3 * sum.total,
    ...(isBuddy && { buddy: true }),
  }
}

/** A song of version 24005 belongs to the version that began at 24000. */
function versionName(version: number, versions: Versions): string {
  const begun = versions.filter((each) => each.version <= version)
  return begun.toSorted((a, b) => a.version - b.version).at(-1)?.title ?? String(version)
}

/** The name of the newest version that a song of the list has. */
export function newestVersion(songs: readonly SongInput[], versions: Versions): string[] {
  const newest = versions.toSorted((a, b) => b.version - a.version).map(({ title }) => title)
  const found = newest.find((title) => songs.some(({ version }) => version === title))
  return found === undefined ? [...new Set(songs.map(({ version }) => version))].sort().slice(-1) : [found]
}
