import { type Duration, noteLength, parseDuration } from './durations.ts'
import type { Note, Path, Segment, Shape } from './notes.ts'
import { BRACKETS, type Scanner } from './scanner.ts'
import { SHAPES, shapeProblem } from './shapes.ts'

/** The time at which a note starts, in seconds, and the tempo of its durations. */
export interface Moment {
  readonly time: number
  readonly bpm: number
  /** Reports a fault of a note that can be read all the same. */
  warn(offset: number, problem: string): void
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

/** Far more paths than anybody could play. The bound keeps one note small. */
const MAX_PATHS = 32
const MAX_SEGMENTS = 32
/** A hold or touch hold without a duration is a note of 1/1280, so it ends nearly at once. */
const SHORTEST = 1280

export const NOTE_START = /[1-8C]|[ABDE][1-8]/y
const BUTTON = /[1-8]/y
const SENSOR = /C[0-9]?|[ABDE][1-8]/y
const DURATION = new RegExp(BRACKETS.square, 'y')
const BUTTON_MARKS = /[bxh$@?!]*/y
const BREAK_AND_EX = /[bx]*/y
const TOUCH_MARKS = /[hf]*/y
const FIREWORK = /f*/y
const BREAK_MARKS = /b*/y

/** Reads the note that begins here. @throws NoteProblem */
export function readNote(scanner: Scanner, moment: Moment): SoloNote {
  const { offset } = scanner
  const button = scanner.match(BUTTON)?.[0]
  if (button !== undefined) return readButtonNote(scanner, moment, button)
  const sensor = scanner.match(SENSOR)?.[0]
  if (sensor !== undefined) return readTouch(scanner, moment, sensorOf(sensor, offset, moment))
  throw new NoteProblem(offset, `expected a note (1 to 8, A1 to E8 or C) but found ${found(scanner)}`)
}

/** The next character, for a message. */
export function found(scanner: Scanner): string {
  const character = scanner.peek()
  return character === '' ? 'the end of the chart' : JSON.stringify(character)
}

function readTouch(scanner: Scanner, moment: Moment, position: string): SoloNote {
  const { time, bpm } = moment
  const marks = readMarks(scanner, TOUCH_MARKS, moment)
  if (!marks.has('h')) return { time, type: 'touch', position, firework: marks.has('f') }
  const { seconds } = readDuration(scanner, moment, 'hold') ?? pseudoHold(bpm)
  const { offset } = scanner
  const late = readMarks(scanner, FIREWORK, moment).has('f')
  if (late)
    moment.warn(offset, marks.has('f') ? 'f is there twice' : 'the f of a touch hold stands before its duration')
  return { time, type: 'touchHold', position, duration: seconds, firework: marks.has('f') || late }
}

/** The number of a C has no meaning, and only 1 and 2 are part of the notation. */
function sensorOf(sensor: string, offset: number, { warn }: Moment): string {
  if (!sensor.startsWith('C')) return sensor
  if (!/^C[12]?$/.test(sensor)) warn(offset, `a C has no number but 1 or 2; ${sensor} is read as C`)
  return 'C'
}

function readButtonNote(scanner: Scanner, moment: Moment, position: string): SoloNote {
  const { offset } = scanner
  const marks = readMarks(scanner, BUTTON_MARKS, moment)
  const refuse = (names: string, why: string) => {
    for (const mark of names) if (marks.has(mark)) moment.warn(offset, `${mark} ${why}`)
  }
  if (readShape(scanner, 'peek') !== undefined) {
    refuse('h', 'makes a hold, which no slide is; it is read as a slide')
    return readSlide(scanner, moment, position, marks, offset)
  }
  refuse('@?!', 'belongs to the head of a slide')
  if (!marks.has('h')) return tapOf(moment, position, marks)
  refuse('$', 'belongs to a tap')
  return readHold(scanner, moment, position, marks)
}

function tapOf({ time }: Moment, position: string, marks: Marks): SoloNote {
  const star = marks.has('$$') ? 'rotating' : marks.has('$') ? 'still' : undefined
  const tap = { time, type: 'tap', position, break: marks.has('b'), ex: marks.has('x') } as const
  return star === undefined ? tap : { ...tap, star }
}

function readHold(scanner: Scanner, moment: Moment, position: string, marks: Marks): SoloNote {
  const { time, bpm, warn } = moment
  const { seconds } = readDuration(scanner, moment, 'hold') ?? pseudoHold(bpm)
  const { offset } = scanner
  const more = readMarks(scanner, BREAK_AND_EX, moment)
  for (const mark of more) if (marks.has(mark)) warn(offset, `${mark} is there twice`)
  const has = (mark: string) => marks.has(mark) || more.has(mark)
  return { time, type: 'hold', position, duration: seconds, break: has('b'), ex: has('x') }
}

function pseudoHold(bpm: number): Duration {
  return { wait: 0, seconds: noteLength(bpm, SHORTEST, 1) }
}

function readSlide(scanner: Scanner, moment: Moment, position: string, marks: Marks, offset: number): SoloNote {
  const { time, warn } = moment
  const looks = ['@', '?', '!', '$', '$$'].filter((mark) => marks.has(mark))
  if (looks.length > 1) warn(offset, `${looks.join(' and ')} contradict each other`)
  const head = !marks.has('?') && !marks.has('!')
  const look = marks.has('@') ? 'tap' : marks.has('$$') ? 'rotating' : undefined
  const paths: Path[] = []
  do {
    if (paths.length === MAX_PATHS) throw new NoteProblem(scanner.offset, `more than ${MAX_PATHS} slides from one star`)
    paths.push(readPath(scanner, moment, position))
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

function readPath(scanner: Scanner, moment: Moment, start: string): Path {
  const stretches: Stretch[] = []
  let isBreak = false
  do {
    if (isBreak) moment.warn(scanner.offset, 'the b of a chain of slides stands at its end')
    if (stretches.length === MAX_SEGMENTS) {
      throw new NoteProblem(scanner.offset, `a chain of more than ${MAX_SEGMENTS} slides`)
    }
    const from = stretches.at(-1)?.segment.end ?? start
    const { offset } = scanner
    const segment = readSegment(scanner, moment, from)
    const early = readMarks(scanner, BREAK_MARKS, moment).has('b')
    const duration = readDuration(scanner, moment, 'slide')
    const late = readMarks(scanner, BREAK_MARKS, moment).has('b')
    if (early && late) moment.warn(scanner.offset, 'b is there twice')
    isBreak ||= early || late
    stretches.push({ segment, duration, offset })
  } while (readShape(scanner, 'peek') !== undefined)
  return pathOf(stretches, isBreak, scanner.offset)
}

function readSegment(scanner: Scanner, { warn }: Moment, start: string): Segment {
  const { offset } = scanner
  const shape = readShape(scanner, 'take')
  if (shape === undefined) throw new NoteProblem(offset, `expected the shape of a slide but found ${found(scanner)}`)
  const via = shape === 'V' ? readEnd(scanner) : undefined
  const end = readEnd(scanner)
  const problem = shapeProblem(shape, start, end, via)
  if (problem !== null) throw new NoteProblem(offset, problem)
  if (shape === 'v' && start === end)
    warn(offset, `not every player knows a slide v to its start, such as ${start}v${end}`)
  return via === undefined ? { shape, end } : { shape, via, end }
}

function readEnd(scanner: Scanner): string {
  const { offset } = scanner
  const end = scanner.match(BUTTON)?.[0]
  if (end === undefined)
    throw new NoteProblem(offset, `expected the button where the slide ends but found ${found(scanner)}`)
  return end
}

/** A chain has one duration at its end, or one for each slide. The first one gives the wait of the star. */
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

/** Reads a duration in its bracket; `undefined` without a bracket. @throws NoteProblem */
function readDuration(scanner: Scanner, { bpm, warn }: Moment, of: 'hold' | 'slide'): Duration | undefined {
  const { offset } = scanner
  const inside = scanner.match(DURATION)?.[1]
  if (inside === undefined) {
    if (scanner.peek() === '[') throw new NoteProblem(offset, 'a [ without its ]')
    return undefined
  }
  const duration = parseDuration(inside, bpm, of)
  if (typeof duration !== 'string') return duration
  const plain = inside.replace(/[^\d.:#]/g, '')
  const guessed = parseDuration(plain, bpm, of)
  if (plain === inside || typeof guessed === 'string') throw new NoteProblem(offset, duration)
  warn(offset, `[${inside}] is read as [${plain}]`)
  return guessed
}

/** The marks: single characters, and `$$`. */
type Marks = ReadonlySet<string>

function readMarks(scanner: Scanner, pattern: RegExp, { warn }: Moment): Marks {
  const { offset } = scanner
  const text = scanner.match(pattern)?.[0] ?? ''
  const marks: string[] = text.match(/\$\$|./g) ?? []
  const unique = new Set(marks)
  const twice = [...unique].find((mark) => marks.indexOf(mark) !== marks.lastIndexOf(mark))
  if (twice !== undefined) warn(offset, `${twice} is there twice`)
  if (unique.has('$') && unique.has('$$')) warn(offset, '$ stands once or twice')
  return unique
}
