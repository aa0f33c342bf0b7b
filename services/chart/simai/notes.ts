import type { NoteCounts } from '../../music/catalogue-file.ts'

/** The notes of a chart, with the members that the API shows. Times and durations are seconds from the chart's start. */

export type Shape = '-' | '^' | '<' | '>' | 'v' | 'V' | 'p' | 'q' | 'pp' | 'qq' | 's' | 'z' | 'w'

interface Timed {
  readonly time: number
}

export interface Tap extends Timed {
  readonly type: 'tap'
  /** Button `1` to `8`, clockwise from the upper right. */
  readonly position: string
  readonly break: boolean
  readonly ex: boolean
  /** Another note starts at the same moment. */
  readonly each: boolean
  /** Set only if the tap looks like the star of a slide. */
  readonly star?: 'still' | 'rotating'
}

export interface Hold extends Timed {
  readonly type: 'hold'
  readonly position: string
  readonly duration: number
  readonly break: boolean
  readonly ex: boolean
  readonly each: boolean
}

/** One stretch of a path. */
export interface Segment {
  readonly shape: Shape
  /** The button at which a `V` turns. */
  readonly via?: string
  readonly end: string
  /** Set only if the stretches of a path have their own durations. Otherwise the star keeps one speed. */
  readonly duration?: number
}

/** The path of one star. */
export interface Path {
  /** The shape. The shapes of a chain follow one another, such as `-q-`. */
  readonly shape: string
  /** The button at which a single `V` turns. */
  readonly via?: string
  readonly end: string
  /** The time from the note to the movement of the star. */
  readonly wait: number
  /** The duration of the star's movement, over the whole path. */
  readonly duration: number
  readonly break: boolean
  /** Set only for a chain. */
  readonly segments?: readonly Segment[]
}

export interface Slide extends Timed {
  readonly type: 'slide'
  readonly position: string
  /** Whether there is a note to be tapped at its start. */
  readonly head: boolean
  /** Whether the head is a break. */
  readonly break: boolean
  readonly ex: boolean
  readonly each: boolean
  /** Set only if the head looks like an ordinary tap (`tap`), or like a rotating star. */
  readonly look?: 'tap' | 'rotating'
  readonly paths: readonly Path[]
}

export interface Touch extends Timed {
  readonly type: 'touch'
  /** Sensor `A1` to `E8`, or `C`. */
  readonly position: string
  readonly firework: boolean
  readonly each: boolean
}

export interface TouchHold extends Timed {
  readonly type: 'touchHold'
  readonly position: string
  readonly duration: number
  readonly firework: boolean
  readonly each: boolean
}

export type Note = Tap | Hold | Slide | Touch | TouchHold

/** A note with its speed: 1 is the usual speed. */
export interface PlacedNote {
  readonly note: Note
  readonly scroll: number
}

/**
 * Counts judgements, as the score does. A slide is its head (a tap or a break; nothing if it has none) and one slide or
 * break for each path. A touch hold is a hold. A break hold is a break.
 */
export function countNotes(notes: Iterable<Note>): NoteCounts {
  const counts = { tap: 0, hold: 0, slide: 0, touch: 0, break: 0 }
  for (const note of notes) for (const kind of judgedAs(note)) counts[kind]++
  return { ...counts, total: counts.tap + counts.hold + counts.slide + counts.touch + counts.break }
}

type Judged = Exclude<keyof NoteCounts, 'total'>

/** The judgements of one note, in their order. */
export function judgedAs(note: Note): Judged[] {
  if (note.type === 'touch') return ['touch']
  if (note.type === 'touchHold') return ['hold']
  if (note.type !== 'slide') return [note.break ? 'break' : note.type]
  const head: Judged[] = note.head ? [note.break ? 'break' : 'tap'] : []
  return [...head, ...note.paths.map((path): Judged => (path.break ? 'break' : 'slide'))]
}

/** The time at which the note is over. */
export function endOf(note: Note): number {
  if (note.type === 'hold' || note.type === 'touchHold') return note.time + note.duration
  if (note.type !== 'slide') return note.time
  return note.time + Math.max(...note.paths.map(({ wait, duration }) => wait + duration))
}
