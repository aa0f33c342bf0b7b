import { type Duration, noteLength, parseDuration } from './durations.ts'
import type { Note, Path, Segment, Shape } from './notes.ts'
import type { Scanner } from './scanner.ts'
import { SHAPES, shapeProblem } from './shapes.ts'

/** When a note starts, in seconds, and the tempo that its durations are written in. */
export interface Moment {
  readonly time: number
  readonly bpm: number
}

/** A note before it is known whether others start with it. */
export type SoloNote = Note extends infer N ? (N extends Note ? Omit<N, 'each'> : never) : never

/** The text cannot be read as a note. */
export class NoteProblem extends Error {
  override readonly name = 'NoteProblem'
  readonly offset: number

  constructor(offset: number, problem: string) {
    super(problem)
    this.offset = offset
  }
}

/** Far more than anybody could play; keeps one note small. */
const MAX_PATHS = 32
const MAX_SEGMENTS = 32
/** A hold or touch hold without a duration is over at once: a note of 1/1280. */
const SHORTEST = 1280

const BUTTON = /[1-8]/y
const SENSOR = /C[12]?|[ABDE][1-8]/y
const BUTTON_MARKS = /[bxh$@?!]*/y
const BREAK_AND_EX = /[bx]*/y
const TOUCH_MARKS = /[hf]*/y
const BREAK_MARKS = /b*/y

/** Reads one note. @throws NoteProblem */
export function readNote(scanner: Scanner, moment: Moment): SoloNote {
  const { offset } = scanner
  const button = scanner.match(BUTTON)?.[0]
  if (button !== undefined) return readButtonNote(scanner, moment, button)
  const sensor = scanner.match(SENSOR)?.[0]
  if (sensor !== undefined) return readTouch(scanner, moment, sensor.startsWith('C') ? 'C' : sensor)
  throw new NoteProblem(offset, `expected a note (1 to 8, A1 to E8 or C) but found ${found(scanner)}`)
}

/** The next character, as it is told. */
export function found(scanner: Scanner): string {
  const character = scanner.peek()
  return character === '' ? 'the end of the chart' : JSON.stringify(character)
}

function readTouch(scanner: Scanner, { time, bpm }: Moment, position: string): SoloNote {
  const marks = readMarks(scanner, TOUCH_MARKS)
  const firework = marks.has('f')
  if (!marks.has('h')) return { time, type: 'touch', position, firework }
  const { seconds } = readDuration(scanner, bpm, 'hold') ?? pseudoHold(bpm)
  return { time, type: 'touchHold', position, duration: seconds, firework }
}

function readButtonNote(scanner: Scanner, moment: Moment, position: string): SoloNote {
  const { offset } = scanner
  const marks = readMarks(scanner, BUTTON_MARKS)
  if (readShape(scanner, 'peek') !== undefined) {
    if (marks.has('h')) throw new NoteProblem(offset, 'a note is a hold or a slide, not both')
    return readSlide(scanner, moment, position, marks, offset)
  }
  for (const mark of '@?!') {
    if (marks.has(mark)) throw new NoteProblem(offset, `${mark} belongs to the head of a slide`)
  }
  return marks.has('h') ? readHold(scanner, moment, position, marks, offset) : tapOf(moment, position, marks)
}

function tapOf({ time }: Moment, position: string, marks: Marks): SoloNote {
  const star = marks.has('$$') ? 'rotating' : marks.has('$') ? 'still' : undefined
  const tap = { time, type: 'tap', position, break: marks.has('b'), ex: marks.has('x') } as const
  return star === undefined ? tap : { ...tap, star }
}

function readHold(scanner: Scanner, { time, bpm }: Moment, position: string, marks: Marks, offset: number): SoloNote {
  if (marks.has('$') || marks.has('$$')) throw new NoteProblem(offset, '$ belongs to a tap')
  const { seconds } = readDuration(scanner, bpm, 'hold') ?? pseudoHold(bpm)
  const more = readMarks(scanner, BREAK_AND_EX)
  for (const mark of more) if (marks.has(mark)) throw new NoteProblem(offset, `${mark} is there twice`)
  const has = (mark: string) => marks.has(mark) || more.has(mark)
  return { time, type: 'hold', position, duration: seconds, break: has('b'), ex: has('x') }
}

function pseudoHold(bpm: number): Duration {
  return { wait: 0, seconds: noteLength(bpm, SHORTEST, 1) }
}

function readSlide(scanner: Scanner, { time, bpm }: Moment, position: string, marks: Marks, offset: number): SoloNote {
  const looks = ['@', '?', '!', '$', '$$'].filter((mark) => marks.has(mark))
  if (looks.length > 1) throw new NoteProblem(offset, `${looks.join(' and ')} contradict each other`)
  const head = !marks.has('?') && !marks.has('!')
  const look = marks.has('@') ? 'tap' : marks.has('$$') ? 'rotating' : undefined
  const paths: Path[] = []
  do {
    if (paths.length === MAX_PATHS) throw new NoteProblem(scanner.offset, `more than ${MAX_PATHS} slides from one star`)
    paths.push(readPath(scanner, bpm, position))
  } while (scanner.take('*'))
  return {
    time,
    type: 'slide',
    position,
    head,
    break: head && marks.has('b'),
    ex: head && marks.has('x'),
    ...(look !== undefined && { look }),
    paths,
  }
}

interface Stretch {
  readonly segment: Segment
  readonly duration: Duration | undefined
  readonly offset: number
}

function readPath(scanner: Scanner, bpm: number, start: string): Path {
  const stretches: Stretch[] = []
  let isBreak = false
  do {
    if (isBreak) throw new NoteProblem(scanner.offset, 'the b of a chain of slides stands at its end')
    if (stretches.length === MAX_SEGMENTS) {
      throw new NoteProblem(scanner.offset, `a chain of more than ${MAX_SEGMENTS} slides`)
    }
    const from = stretches.at(-1)?.segment.end ?? start
    const { offset } = scanner
    const segment = readSegment(scanner, from)
    const early = readMarks(scanner, BREAK_MARKS).has('b')
    const duration = readDuration(scanner, bpm, 'slide')
    const late = readMarks(scanner, BREAK_MARKS).has('b')
    if (early && late) throw new NoteProblem(scanner.offset, 'b is there twice')
    isBreak = early || late
    stretches.push({ segment, duration, offset })
  } while (readShape(scanner, 'peek') !== undefined)
  return pathOf(stretches, isBreak, scanner.offset)
}

function readSegment(scanner: Scanner, start: string): Segment {
  const { offset } = scanner
  const shape = readShape(scanner, 'take')
  if (shape === undefined) throw new NoteProblem(offset, `expected the shape of a slide but found ${found(scanner)}`)
  const via = shape === 'V' ? readEnd(scanner) : undefined
  const end = readEnd(scanner)
  const problem = shapeProblem(shape, start, end, via)
  if (problem !== null) throw new NoteProblem(offset, problem)
  return via === undefined ? { shape, end } : { shape, via, end }
}

function readEnd(scanner: Scanner): string {
  const { offset } = scanner
  const end = scanner.match(BUTTON)?.[0]
  if (end === undefined)
    throw new NoteProblem(offset, `expected the button where the slide ends but found ${found(scanner)}`)
  return end
}

/** A chain has one duration at its end, or one for each slide; the first says how long the star waits. */
function pathOf(stretches: readonly Stretch[], isBreak: boolean, offset: number): Path {
  const durations = stretches.flatMap(({ duration }) => duration ?? [])
  const last = stretches.at(-1)
  const first = durations[0]
  if (first === undefined || last?.duration === undefined)
    throw new NoteProblem(offset, 'expected the duration of the slide, such as [4:1]')
  if (durations.length > 1 && durations.length < stretches.length) {
    const bare = stretches.find(({ duration }) => duration === undefined)
    throw new NoteProblem(bare?.offset ?? offset, 'a chain has one duration at its end, or one for each of its slides')
  }
  const [only, ...more] = stretches.map(({ segment }) => segment)
  return {
    shape: stretches.map(({ segment }) => segment.shape).join(''),
    ...(more.length === 0 && only?.via !== undefined && { via: only.via }),
    end: last.segment.end,
    wait: first.wait,
    duration: durations.reduce((sum, { seconds }) => sum + seconds, 0),
    break: isBreak,
    ...(more.length > 0 && { segments: stretches.map((stretch) => segmentOf(stretch, durations.length > 1)) }),
  }
}

function segmentOf({ segment, duration }: Stretch, own: boolean): Segment {
  return own && duration !== undefined ? { ...segment, duration: duration.seconds } : segment
}

function readShape(scanner: Scanner, how: 'peek' | 'take'): Shape | undefined {
  const shape = SHAPES.find((name) => name === scanner.peek() + (name.length === 2 ? scanner.peek(1) : ''))
  if (shape !== undefined && how === 'take') scanner.take(shape)
  return shape
}

/** `undefined` where no bracket comes. */
function readDuration(scanner: Scanner, bpm: number, of: 'hold' | 'slide'): Duration | undefined {
  const { offset } = scanner
  const bracket = scanner.match(/\[([^[\],]{0,100})\]/y)
  if (bracket === null) {
    if (scanner.peek() === '[') throw new NoteProblem(offset, 'a [ without its ]')
    return undefined
  }
  const duration = parseDuration(bracket[1] ?? '', bpm, of)
  if (typeof duration === 'string') throw new NoteProblem(offset, duration)
  return duration
}

/** Single characters, and `$$`. */
type Marks = ReadonlySet<string>

function readMarks(scanner: Scanner, pattern: RegExp): Marks {
  const { offset } = scanner
  const text = scanner.match(pattern)?.[0] ?? ''
  const marks: string[] = text.match(/\$\$|./g) ?? []
  for (const [index, mark] of marks.entries()) {
    if (marks.indexOf(mark) !== index) throw new NoteProblem(offset, `${mark} is there twice`)
  }
  if (marks.includes('$') && marks.includes('$$')) throw new NoteProblem(offset, '$ stands once or twice')
  return new Set(marks)
}
