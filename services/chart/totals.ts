import { readFile } from 'node:fs/promises'
import { catalogueFile } from '../music/catalogue-file.ts'
import { UTAGE } from '../music/ids.ts'
import type { Library } from './library.ts'

/** A reviver that sees how a number is spelt, so that `3.0` stays `3.0`. TypeScript's library does not have this type yet. */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown
  rawJSON(text: string): unknown
}

interface Entry {
  readonly musicId: unknown
  readonly charts: (Record<string, unknown> & { level: unknown })[]
}

/**
 * The catalogue with the notes and the maximum DX score of every chart, counted from the library. All other values
 * stay unchanged.
 * @returns the text of the catalogue
 * @throws Error if the file is no catalogue, or names a chart that the library does not have
 */
export async function countCatalogue(file: string, library: Library): Promise<string> {
  const text = await readFile(file, 'utf8')
  try {
    catalogueFile.parse(JSON.parse(text))
  } catch (error) {
    throw new Error(`cannot read the catalogue ${file}: ${(error as Error).message}`, { cause: error })
  }
  const catalogue = parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? rawJSON(source) : value,
  ) as { songs: Entry[] }
  for (const { musicId, charts } of catalogue.songs) {
    for (const chart of charts) Object.assign(chart, countsOf(library, numberOf(musicId), numberOf(chart.level)))
  }
  return `${JSON.stringify(catalogue, null, 2)}\n`
}

function numberOf(raw: unknown): number {
  return Number((raw as { rawJSON: string }).rawJSON)
}

function countsOf({ charts }: Library, musicId: number, level: number) {
  const chart = charts.find((each) => each.musicId === musicId && each.level === level)
  const name = level === UTAGE ? 'utage' : `level ${level}`
  if (chart === undefined) throw new Error(`there is no sound chart of musicId ${musicId}, ${name}`)
  return { notes: chart.counts, maxDxScore: chart.maxDxScore }
}
