import * as z from 'zod'
import { readJsonFile } from '../../common/json-file.ts'
import { catalogueFile, type SongInput, song } from '../catalogue-file.ts'
import { fishSong, songOfFish } from './fish.ts'
import { lxnsSong, lxnsVersions, newestVersion, songsOfLxns } from './lxns.ts'
import { type Place, placeText, type Read, readAt } from './place.ts'

/** Facts about the rating that a list of songs does not have. */
export interface ImportOptions {
  readonly allPerfect: number
  /** The versions whose songs count as new. Empty: the list of songs decides. */
  readonly newVersions: readonly string[]
}

export interface Imported {
  /** The text of a catalogue. */
  readonly text: string
  readonly songs: number
  readonly charts: number
}

/** A song of the list, with the place where it stands. */
interface Found {
  readonly place: Place
  readonly song: SongInput
}

interface List {
  readonly found: readonly Read<Found>[]
  /** The versions that are new if the command names none; `null` if each song has its own `isNew`. */
  newVersions(songs: readonly SongInput[]): string[] | null
}

/**
 * Makes a catalogue from a list of songs of a public platform: `music_data` of Diving-Fish or `song/list` of LXNS.
 * @throws Error with one line for each value that cannot be read, at its place in the file
 */
export async function importCatalogue(file: string, options: ImportOptions): Promise<Imported> {
  const list = listOf(await readJsonFile(file), file)
  const songs: SongInput[] = []
  const places = new Map<number, Place>()
  const problems: string[] = []
  for (const each of list.found) {
    const sound = 'problems' in each ? each : soundSong(each.value, places)
    if ('problems' in sound) problems.push(...sound.problems)
    else songs.push(sound.value)
  }
  if (problems.length > 0) throw new Error(problems.map((line) => `${file}: ${line}`).join('\n'))
  const named = options.newVersions.length > 0 ? [...options.newVersions] : list.newVersions(songs)
  checkVersions(named ?? [], songs, file)
  const rating = { allPerfect: options.allPerfect, ...(named !== null && { newVersions: named }) }
  const catalogue = { rating, songs: songs.sort((a, b) => a.musicId - b.musicId) }
  catalogueFile.parse(catalogue)
  const charts = songs.reduce((total, each) => total + each.charts.length, 0)
  return { text: `${JSON.stringify(catalogue, null, 2)}\n`, songs: songs.length, charts }
}

const songList = z.object({ songs: z.array(z.unknown()).min(1), versions: lxnsVersions })

/** Recognises by the form of the content from which of the two platforms the list is. */
function listOf(content: unknown, file: string): List {
  if (Array.isArray(content) && content.length > 0) {
    return { found: content.map((each, index) => fishAt(each, [index])), newVersions: () => null }
  }
  const parsed = songList.safeParse(content)
  if (!parsed.success) {
    throw new Error(`${file}: expected an array of songs (music_data) or an object with songs and versions (song/list)`)
  }
  const { songs, versions } = parsed.data
  return {
    found: songs.flatMap((each, index) => lxnsAt(each, ['songs', index], versions)),
    newVersions: (all) => newestVersion(all, versions),
  }
}

function fishAt(content: unknown, place: Place): Read<Found> {
  const read = readAt(fishSong, content, place)
  return 'problems' in read ? read : { value: { place, song: songOfFish(read.value) } }
}

function lxnsAt(content: unknown, place: Place, versions: z.output<typeof lxnsVersions>): Read<Found>[] {
  const read = readAt(lxnsSong, content, place)
  if ('problems' in read) return [read]
  return songsOfLxns(read.value, versions).map((each) => {
    return { value: { place: [...place, 'difficulties', each.kind], song: each.song } }
  })
}

/** Checks that the catalogue can hold the song, and that no song before it in the list has its musicId. */
function soundSong({ place, song: found }: Found, places: Map<number, Place>): Read<SongInput> {
  const read = readAt(song, found, place)
  if ('problems' in read) return read
  const twin = places.get(found.musicId)
  places.set(found.musicId, place)
  if (twin === undefined) return { value: found }
  return { problems: [`${placeText(place)}: is musicId ${found.musicId}, as ${placeText(twin)} is`] }
}

function checkVersions(named: readonly string[], songs: readonly SongInput[], file: string): void {
  const known = [...new Set(songs.map(({ version }) => version))]
  const unknown = named.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new Error(`${file}: no song is of the version ${JSON.stringify(unknown)}, but of ${known.join(', ')}`)
  }
}
