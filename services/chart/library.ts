import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { NoteCounts } from '../music/catalogue-file.ts'
import { isSongId } from '../music/ids.ts'
import { type ChartName, hasDifficulty, labelOf, nameOf } from './names.ts'
import { type Maidata, parseMaidata, type SimaiChart } from './simai/maidata.ts'
import { countNotes } from './simai/notes.ts'
import type { Problem } from './simai/problem.ts'

/** A chart that can be shown. */
export interface Chart extends ChartName, Pick<SimaiChart, 'designer' | 'bpm' | 'first' | 'duration' | 'notes'> {
  readonly title: string
  readonly artist: string
  /** The level, such as `MASTER 12+`. */
  readonly levelLabel: string
  readonly counts: NoteCounts
  readonly maxDxScore: number
  /** Parts of its text that were skipped or read differently. */
  readonly warnings: readonly Problem[]
  readonly file: ChartFile
}

/** The file of a chart, unchanged. */
export interface ChartFile {
  readonly bytes: Buffer
  /** The MD5 in base64. */
  readonly hash: string
}

export interface FileProblem extends Problem {
  readonly file: string
}

export interface Library {
  /** The charts, newest songs first, and for each song its easiest chart first. */
  readonly charts: readonly Chart[]
  /** The reasons why charts are left out. */
  readonly errors: readonly FileProblem[]
  /** Parts of charts that were skipped or read differently. */
  readonly warnings: readonly FileProblem[]
  find(chartKey: string): Chart | undefined
}

/** The largest file in bytes: one with seven long charts has about 100,000. */
const MAX_FILE = 2 * 1024 * 1024
const NUMBER = /^[1-9]\d{0,5}$/

/**
 * Reads `<folder>/<musicId>/maidata.txt` of every song. A chart with an error is left out, and the others are served.
 * @throws Error if the folder cannot be read
 */
export async function loadLibrary(folder: string): Promise<Library> {
  const charts: Chart[] = []
  const errors: FileProblem[] = []
  const warnings: FileProblem[] = []
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).sort()
  for (const name of names) {
    const song = await loadSong(join(folder, name), name)
    charts.push(...song.charts)
    errors.push(...song.errors)
    warnings.push(...song.warnings)
  }
  charts.sort((a, b) => b.musicId - a.musicId || a.difficulty - b.difficulty)
  const byKey = new Map(charts.map((chart) => [chart.chartKey, chart]))
  return { charts, errors, warnings, find: (chartKey) => byKey.get(chartKey) }
}

/** A problem as one line, in the form of compilers. */
export function problemLine(
  { file, line, column, problem }: FileProblem,
  severity: 'error' | 'warning' = 'error',
): string {
  return `${file}:${line}:${column} ${severity === 'warning' ? 'warning: ' : ''}${problem}`
}

async function loadSong(folder: string, name: string): Promise<Omit<Library, 'find'>> {
  const at = (file: string, problem: string) => ({
    charts: [],
    errors: [{ file, line: 1, column: 1, problem }],
    warnings: [],
  })
  if (!NUMBER.test(name) || !isSongId(Number(name))) {
    return at(folder, 'a song is in a folder named by its musicId: 1 to 9999, 10001 to 19999 or above 100000')
  }
  const path = join(folder, 'maidata.txt')
  const bytes = await readBounded(path)
  if (typeof bytes === 'string') return at(path, bytes)
  const text = decode(bytes)
  if (text === null) return at(path, 'the file is not UTF-8')
  const maidata = parseMaidata(text)
  const misplaced = maidata.charts.filter(({ difficulty }) => !hasDifficulty(Number(name), difficulty))
  const errors = misplaced.map(({ difficulty }) => ({
    line: 1,
    column: 1,
    problem: `inote_${difficulty} is not for this song: utage songs (musicId above 100000) have inote_7 alone`,
  }))
  return {
    charts: chartsOf(Number(name), maidata, bytes),
    errors: [...maidata.errors, ...errors].map((problem) => ({ file: path, ...problem })),
    warnings: maidata.warnings.map((problem) => ({ file: path, ...problem })),
  }
}

/** The charts in the file of a song, without those that do not fit the song. */
export function chartsOf(musicId: number, { title, artist, charts }: Maidata, bytes: Buffer): Chart[] {
  const file = { bytes, hash: createHash('md5').update(bytes).digest('base64') }
  return charts
    .filter(({ difficulty }) => hasDifficulty(musicId, difficulty))
    .map(({ difficulty, level, designer, bpm, first, duration, notes, warnings }) => {
      const counts = countNotes(notes.map(({ note }) => note))
      const name = nameOf(musicId, difficulty)
      const levelLabel = labelOf(name, level)
      const facts = { title, artist, designer, bpm, first, duration, notes, warnings }
      return { ...name, ...facts, levelLabel, counts, maxDxScore: 3 * counts.total, file }
    })
}

/** The bytes of the file, or the reason why it cannot be read. */
async function readBounded(path: string): Promise<Buffer | string> {
  try {
    const { size } = await stat(path)
    return size > MAX_FILE ? `the file is larger than ${MAX_FILE} bytes` : await readFile(path)
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`
  }
}

function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
