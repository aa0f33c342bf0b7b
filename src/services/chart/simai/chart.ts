import { MAX_SECONDS, NUMBER } from './durations.ts'
import { found, NoteProblem, readNote, type SoloNote } from './note-reader.ts'
import { countNotes, endOf, type PlacedNote } from './notes.ts'
import { createScanner, type Scanner } from './scanner.ts'
import { createTimeline, type Timeline } from './timeline.ts'

/** What the body of a chart says. */
export interface ChartBody {
  /** In the order of their times; those of one moment in the order of the text. */
  readonly notes: readonly PlacedNote[]
  /** The first tempo. */
  readonly bpm: number
  /** The end of the last note, in seconds. */
  readonly duration: number
}

/** Something wrong at an offset of the file. */
export interface Fault {
  readonly offset: number
  readonly problem: string
}

/** Most that is judged in one chart. The largest real ones have about 3000. */
const MAX_NOTES = 20_000
/** Further ones would mostly follow from these. */
const MAX_FAULTS = 50
/** Between two notes that a backtick parts, in seconds. */
const PSEUDO_EACH_S = 0.001

const BPM = new RegExp(`\\((${NUMBER})\\)`, 'y')
const DIVISOR = new RegExp(`\\{(#?)(${NUMBER})\\}`, 'y')
const SCROLL = new RegExp(`<HS\\*(${NUMBER})>`, 'y')
/** `E1` to `E8` are sensors. */
const END = /E(?![1-8])/y
const TAPS = /[1-8]{2,}/y

interface Reading {
  readonly scanner: Scanner
  readonly timeline: Timeline
  readonly notes: PlacedNote[]
  readonly faults: Fault[]
  scroll: number
  firstBpm: number
  judged: number
  /** Whether this comma has its notes already. */
  filled: boolean
  ended: boolean
}

/**
 * Reads the value of an `inote_x`. Never throws. What is wrong is told, and reading goes on behind the next comma, so that
 * the times of later notes stay right.
 * @param start offset of the text in its file
 */
export function parseBody(text: string, start: number): { chart: ChartBody; faults: readonly Fault[] } {
  const reading: Reading = {
    scanner: createScanner(text, start),
    timeline: createTimeline(),
    notes: [],
    faults: [],
    scroll: 1,
    firstBpm: 0,
    judged: 0,
    filled: false,
    ended: false,
  }
  while (!reading.ended && !reading.scanner.done) readNext(reading)
  const { notes, faults, firstBpm } = reading
  if (notes.length === 0 && faults.length === 0) faults.push({ offset: start, problem: 'the chart has no note' })
  const ordered = notes.toSorted((a, b) => a.note.time - b.note.time)
  const duration = ordered.reduce((end, { note }) => Math.max(end, endOf(note)), 0)
  return { chart: { notes: ordered, bpm: firstBpm, duration }, faults }
}

function readNext(reading: Reading): void {
  const { scanner } = reading
  const { offset } = scanner
  try {
    if (scanner.match(END) !== null) readEnd(reading)
    else if (scanner.take(',')) step(reading, offset)
    else if (scanner.peek() === '(') setTempo(reading)
    else if (scanner.peek() === '{') setDivisor(reading)
    else if (scanner.peek() === '<') setScroll(reading)
    else readMoment(reading)
  } catch (error) {
    if (!(error instanceof NoteProblem)) throw error
    tell(reading, error.offset, error.message)
    scanner.skipTo(',')
  }
}

function tell(reading: Reading, offset: number, problem: string): void {
  reading.faults.push({ offset, problem })
  if (reading.faults.length < MAX_FAULTS) return
  reading.faults.push({ offset, problem: 'the rest of the chart was not read: there are too many problems' })
  reading.ended = true
}

function readEnd(reading: Reading): void {
  const { scanner } = reading
  reading.ended = true
  if (!scanner.done)
    tell(reading, scanner.offset, `expected nothing after the E that ends the chart but found ${found(scanner)}`)
}

function step(reading: Reading, offset: number): void {
  const { timeline } = reading
  reading.filled = false
  if (timeline.bpm === 0) {
    tell(reading, offset, 'a comma before the first tempo; a chart begins with one, such as (120)')
    reading.ended = true
    return
  }
  timeline.step()
  if (timeline.now() <= MAX_SECONDS) return
  tell(reading, offset, 'the chart is longer than an hour')
  reading.ended = true
}

function setTempo(reading: Reading): void {
  const bpm = directive(reading, BPM, 'expected a tempo such as (120)')[1]
  reading.timeline.tempo(Number(bpm))
  if (reading.firstBpm === 0) reading.firstBpm = Number(bpm)
}

function setDivisor(reading: Reading): void {
  const { timeline } = reading
  const [, hash, value] = directive(reading, DIVISOR, 'expected the length of a comma such as {8} or {#0.35}')
  if (hash === '#') timeline.every(Number(value))
  else timeline.divide(Number(value))
}

function setScroll(reading: Reading): void {
  reading.scroll = Number(directive(reading, SCROLL, 'expected a scroll speed such as <HS*1.5>')[1])
}

/** A number in brackets, which is above zero. @throws NoteProblem */
function directive({ scanner }: Reading, pattern: RegExp, expected: string): RegExpExecArray {
  const { offset } = scanner
  const match = scanner.match(pattern)
  if (match === null) throw new NoteProblem(offset, expected)
  if (Number(match.at(-1)) === 0) throw new NoteProblem(offset, `${match[0]} is zero`)
  return match
}

/** All notes of one comma: groups of notes that start together, with a millisecond between the groups. */
function readMoment(reading: Reading): void {
  const { scanner, timeline } = reading
  const { offset } = scanner
  if (reading.filled) throw new NoteProblem(offset, `expected a comma or / after a note but found ${found(scanner)}`)
  if (timeline.bpm === 0) {
    tell(reading, offset, 'a note before the first tempo; a chart begins with one, such as (120)')
    reading.ended = true
    return
  }
  reading.filled = true
  const start = timeline.now()
  let group = 0
  do {
    addGroup(reading, start + group * PSEUDO_EACH_S)
    group++
  } while (!reading.ended && scanner.take('`'))
}

function addGroup(reading: Reading, time: number): void {
  const { scanner, timeline, scroll } = reading
  const { offset } = scanner
  const moment = { time, bpm: timeline.bpm }
  const solos: SoloNote[] = []
  do {
    const taps = scanner.match(TAPS)?.[0] ?? ''
    for (const position of taps) solos.push({ time, type: 'tap', position, break: false, ex: false })
    if (taps === '') solos.push(readNote(scanner, moment))
  } while (scanner.take('/'))
  const notes = solos.map((note) => together(note, solos.length > 1))
  reading.judged += countNotes(notes).total
  if (reading.judged > MAX_NOTES) {
    tell(reading, offset, `more than ${MAX_NOTES} notes`)
    reading.ended = true
    return
  }
  for (const note of notes) reading.notes.push({ note, scroll })
}

/** `each` stands where the API has it: behind what the note itself says, and before its looks and paths. */
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
