import { MAX_SECONDS, NUMBER } from './durations.ts'
import { found, type Moment, NOTE_START, NoteProblem, readNote, type SoloNote } from './note-reader.ts'
import { countNotes, endOf, type PlacedNote } from './notes.ts'
import { BRACKETS, createScanner, type Scanner, type Stray } from './scanner.ts'
import { createTimeline, type Timeline } from './timeline.ts'

/** The contents of the body of a chart. */
export interface ChartBody {
  /** The notes by time; notes of one moment in the order of the text. */
  readonly notes: readonly PlacedNote[]
  /** The first tempo. */
  readonly bpm: number
  /** The end of the last note, in seconds. */
  readonly duration: number
}

/** A fault at an offset of the file. */
export interface Fault {
  readonly offset: number
  readonly problem: string
  /** An error leaves no chart. After a warning the rest of the chart is read. */
  readonly severity: 'error' | 'warning'
}

/** The most judgements in one chart. The largest real charts have about 3000. */
const MAX_NOTES = 20_000
/** The most warnings: further ones would mostly follow from these. */
const MAX_WARNINGS = 50
/** The longest stray text that is shown. */
const MAX_SHOWN = 20
/** The time between two notes with a backtick between them, in seconds. */
const PSEUDO_EACH_S = 0.001
const NOT_YET = Number.POSITIVE_INFINITY

const BPM = new RegExp(BRACKETS.round, 'y')
const DIVISOR = new RegExp(BRACKETS.curly, 'y')
const SCROLL = new RegExp(BRACKETS.scroll, 'y')
const DIRECTIVE = new RegExp([BRACKETS.round, BRACKETS.curly, BRACKETS.scroll].join('|'), 'y')
/** The E that ends a chart. `E1` to `E8` are sensors. An E between commas, and one that continues like a sensor or a chart, is a mistake. */
const END = /E(?![0-9,({<]|[hf]*[/`[]|[hf]+,)/y
const TAPS = /[1-8]{2,}/y
const SQUARE = new RegExp(BRACKETS.square, 'y')
const SEPARATOR = /[,/`]/y

interface Reading {
  readonly scanner: Scanner
  readonly timeline: Timeline
  readonly notes: PlacedNote[]
  readonly faults: Fault[]
  readonly warn: (offset: number, problem: string) => void
  scroll: number
  firstBpm: number
  judged: number
  /** Whether this comma has its notes already. */
  filled: boolean
  /** The offset in the file at which reading ended before the end of the text. */
  end: number
}

/**
 * Reads the value of an `inote_x`. Never throws. A text that is no part of the notation spoils its own note at most. It
 * is reported as a warning, and reading continues after it, so that the times of later notes stay right.
 * @param start offset of the text in its file
 */
export function parseBody(text: string, start: number): { chart: ChartBody; faults: readonly Fault[] } {
  const faults: Fault[] = []
  const scanner = createScanner(text, start)
  const reading: Reading = {
    scanner,
    timeline: createTimeline(),
    notes: [],
    faults,
    warn: (offset, problem) => faults.push({ offset, problem, severity: 'warning' }),
    scroll: 1,
    firstBpm: 0,
    judged: 0,
    filled: false,
    end: NOT_YET,
  }
  while (reading.end === NOT_YET && !scanner.done) readNext(reading)
  for (const stray of scanner.strays) if (stray.offset < reading.end) reading.warn(stray.offset, strayProblem(stray))
  const { notes, firstBpm } = reading
  if (notes.length === 0 && !faults.some(isError)) fail(reading, start, 'the chart has no note')
  const ordered = notes.toSorted((a, b) => a.note.time - b.note.time)
  const duration = ordered.reduce((end, { note }) => Math.max(end, endOf(note)), 0)
  return { chart: { notes: ordered, bpm: firstBpm, duration }, faults: firstFaults(faults) }
}

export function isError({ severity }: Fault): boolean {
  return severity === 'error'
}

function strayProblem({ text }: Stray): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
  if (text.startsWith('|') && text.length > 1)
    return `a comment begins with ||; ${JSON.stringify(shown)} is read as one`
  return `${JSON.stringify(shown)} is no part of the notation`
}

/** All errors, and the first warnings, in the order of the text. */
function firstFaults(faults: readonly Fault[]): Fault[] {
  const warnings = faults.filter((fault) => !isError(fault)).toSorted((a, b) => a.offset - b.offset)
  const more = warnings[MAX_WARNINGS]
  const shown = warnings.slice(0, MAX_WARNINGS)
  if (more !== undefined) {
    shown.push({ ...more, problem: `${warnings.length - MAX_WARNINGS} more warnings from here on are not named` })
  }
  return [...faults.filter(isError), ...shown].toSorted((a, b) => a.offset - b.offset)
}

function readNext(reading: Reading): void {
  const { scanner } = reading
  const { offset } = scanner
  if (atEnd(scanner)) readEnd(reading)
  else if (scanner.take(',')) step(reading, offset)
  else if (!scanner.sees(DIRECTIVE)) readMoment(reading)
  else if (scanner.peek() === '(') setTempo(reading)
  else if (scanner.peek() === '{') setDivisor(reading)
  else setScroll(reading)
}

/** Reports a fault that makes the chart unusable. */
function fail(reading: Reading, offset: number, problem: string): void {
  reading.faults.push({ offset, problem, severity: 'error' })
  reading.end = offset
}

/** Whether the chart ends here. An E ends it only before a gap or at the end of the text, since later text is not read. */
function atEnd(scanner: Scanner): boolean {
  return scanner.sees(END) && scanner.isLastOfPiece
}

function readEnd(reading: Reading): void {
  const { scanner, warn } = reading
  reading.end = scanner.offset
  scanner.next()
  const stray = scanner.strays.find(({ offset }) => offset > reading.end)
  const behind = Math.min(scanner.done ? NOT_YET : scanner.offset, stray?.offset ?? NOT_YET)
  if (behind !== NOT_YET) warn(behind, 'expected nothing after the E that ends the chart; it is not read')
}

function step(reading: Reading, offset: number): void {
  const { timeline } = reading
  reading.filled = false
  if (timeline.bpm === 0)
    fail(reading, offset, 'a comma before the first tempo; a chart begins with one, such as (120)')
  else timeline.step()
}

function setTempo(reading: Reading): void {
  const tempo = directive(reading, BPM, PLAIN, 'expected a tempo such as (120)')
  if (tempo === undefined) return
  reading.timeline.tempo(tempo.value)
  if (reading.firstBpm === 0) reading.firstBpm = tempo.value
}

function setDivisor(reading: Reading): void {
  const { timeline } = reading
  const length = directive(reading, DIVISOR, HASHED, 'expected the length of a comma such as {8} or {#0.35}')
  if (length?.before === '#') timeline.every(length.value)
  else if (length !== undefined) timeline.divide(length.value)
}

function setScroll(reading: Reading): void {
  const scroll = directive(reading, SCROLL, PLAIN, 'expected a scroll speed such as <HS*1.5>')
  if (scroll !== undefined) reading.scroll = scroll.value
}

const PLAIN = new RegExp(`^()(${NUMBER})$`)
const HASHED = new RegExp(`^(#?)(${NUMBER})$`)

/**
 * A number above zero in brackets, and the text before it. Between its digits everything else is skipped. `undefined`
 * without a valid number: then the former value stays in force.
 */
function directive({ scanner, warn }: Reading, bracket: RegExp, form: RegExp, expected: string) {
  const { offset } = scanner
  const [whole = '', inside = ''] = scanner.match(bracket) ?? []
  const plain = inside.replace(/[^\d.#]/g, '')
  const [, before, value] = form.exec(plain) ?? []
  if (value === undefined) warn(offset, expected)
  else if (Number(value) === 0) warn(offset, `${whole} is zero`)
  else {
    if (plain !== inside) warn(offset, `${whole} is read as ${whole.replace(inside, plain)}`)
    return { value: Number(value), before }
  }
  return undefined
}

/** Reads all notes of one comma: groups of notes that start together, with a millisecond between the groups. */
function readMoment(reading: Reading): void {
  const { scanner, timeline, warn } = reading
  const { offset } = scanner
  const start = timeline.now()
  const problem = momentProblem(timeline.bpm, start)
  if (problem !== null) {
    fail(reading, offset, problem)
    return
  }
  if (reading.filled) warn(offset, `expected a comma or / after a note but found ${found(scanner)}`)
  reading.filled = true
  let group = 0
  do {
    addGroup(reading, start + group * PSEUDO_EACH_S)
    group++
  } while (reading.end === NOT_YET && scanner.take('`'))
}

/** The reason why no note can be at this moment. */
function momentProblem(bpm: number, start: number): string | null {
  if (bpm === 0) return 'a note before the first tempo; a chart begins with one, such as (120)'
  return start > MAX_SECONDS ? 'a note later than an hour' : null
}

function addGroup(reading: Reading, time: number): void {
  const { scanner, timeline, scroll, warn } = reading
  const { offset } = scanner
  const moment = { time, bpm: timeline.bpm, warn }
  const solos: SoloNote[] = []
  do {
    for (const note of readPart(scanner, moment)) solos.push(note)
    if (!atBoundary(scanner)) {
      warn(scanner.offset, `expected a comma or / after a note but found ${found(scanner)}`)
      passOver(scanner)
    }
  } while (scanner.take('/'))
  const notes = solos.map((note) => together(note, solos.length > 1))
  reading.judged += countNotes(notes).total
  if (reading.judged > MAX_NOTES) fail(reading, offset, `more than ${MAX_NOTES} notes`)
  else for (const note of notes) reading.notes.push({ note, scroll })
}

/** Reads one note or several joined taps; nothing if no note can be read. */
function readPart(scanner: Scanner, moment: Moment): SoloNote[] {
  if (!scanner.sees(NOTE_START)) {
    moment.warn(scanner.offset, `expected a note (1 to 8, A1 to E8 or C) but found ${found(scanner)}`)
    passOver(scanner, NOTE_START)
    if (!scanner.sees(NOTE_START)) return []
  }
  const taps = scanner.match(TAPS)?.[0] ?? ''
  if (taps !== '') {
    return Array.from(taps, (position) => ({ time: moment.time, type: 'tap', position, break: false, ex: false }))
  }
  try {
    return [readNote(scanner, moment)]
  } catch (error) {
    if (!(error instanceof NoteProblem)) throw error
    moment.warn(error.offset, error.message)
    passOver(scanner)
    return []
  }
}

/** Skips to the end of this part, or to the first place where the sticky expression matches. */
function passOver(scanner: Scanner, until?: RegExp): void {
  while (!atBoundary(scanner) && !(until !== undefined && scanner.sees(until))) {
    if (scanner.match(SQUARE) === null) scanner.next()
  }
}

/** Whether the text that can belong to one note ends here. */
function atBoundary(scanner: Scanner): boolean {
  return scanner.done || scanner.sees(SEPARATOR) || scanner.sees(DIRECTIVE) || atEnd(scanner)
}

/** Adds `each` at the place that it has in the API: after the note's own members, and before its looks and paths. */
function together(solo: SoloNote, each: boolean): PlacedNote['note'] {
  if (solo.type === 'slide') {
    const { look, paths, ...rest } = solo
    return { ...rest, each, ...(look !== undefined && { look }), paths }
  }
  if (solo.type === 'tap') {
    const { star, ...rest } = solo
    return { ...rest, each, ...(star !== undefined && { star }) }
  }
  return { ...solo, each }
}
