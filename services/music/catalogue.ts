import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { MAX_ACHIEVEMENT, MAX_BUDDY_ACHIEVEMENT } from './achievement.ts'
import { type CatalogueFile, catalogueFile, type RatingRules, type Song } from './catalogue-file.ts'
import { toFish } from './ids.ts'

/** The fictional catalogue that ships with the product. */
export const BUNDLED_CATALOGUE = fileURLToPath(new URL('../../config/score/catalogue.json', import.meta.url))

/** The facts of a chart by which scores are judged, and by which the chart is named to the platforms. */
export interface Chart {
  readonly title: string
  /** The level as it is displayed, for example `13+`. */
  readonly levelLabel: string
  /** The constant in tenths: 139 for 13.9. */
  readonly constant: number
  readonly maxDxScore: number
  /** Percent x 10000. */
  readonly maxAchievement: number
  readonly isNew: boolean
  readonly utage: boolean
  /** Another song has the same title and, for Diving-Fish, the same type. */
  readonly sharesTitle: boolean
}

/** The songs that scores may name, and the rules of their rating. */
export interface Catalogue {
  readonly rating: Pick<RatingRules, 'allPerfect'>
  chart(musicId: number, level: number): Chart | undefined
}

/** Reads a catalogue. @throws Error if the file is missing or does not hold a catalogue; the message names the file */
export async function loadCatalogue(file: string): Promise<Catalogue> {
  try {
    return catalogueOf(catalogueFile.parse(JSON.parse(await readFile(file, 'utf8'))))
  } catch (error) {
    throw new Error(`cannot read the catalogue ${file}: ${(error as Error).message}`, { cause: error })
  }
}

export function catalogueOf({ rating, songs }: CatalogueFile): Catalogue {
  const charts = new Map<string, Chart>()
  const namesakes = Map.groupBy(songs, nameOf)
  for (const song of songs) {
    const sharesTitle = (namesakes.get(nameOf(song))?.length ?? 0) > 1
    const isNew = rating.newVersions?.includes(song.version) ?? song.isNew === true
    const facts = { title: song.title, isNew, utage: song.type === 'utage', sharesTitle }
    for (const chart of song.charts) charts.set(`${song.musicId}/${chart.level}`, { ...facts, ...measuresOf(chart) })
  }
  return { rating, chart: (musicId, level) => charts.get(`${musicId}/${level}`) }
}

/** The name by which Diving-Fish finds a song. */
function nameOf({ musicId, title }: Song): string {
  return `${toFish({ musicId, level: 0 }).type}/${title}`
}

function measuresOf(chart: Song['charts'][number]) {
  return {
    levelLabel: chart.levelLabel,
    constant: Math.round(chart.ds * 10),
    maxDxScore: chart.maxDxScore,
    maxAchievement: chart.buddy ? MAX_BUDDY_ACHIEVEMENT : MAX_ACHIEVEMENT,
  }
}
