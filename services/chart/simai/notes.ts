/** The notes of a chart, member by member as the API shows them. Times and durations are seconds from the chart's start. */

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
  /** Only where the tap looks like the star of a slide. */
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
  /** Where a `V` turns. */
  readonly via?: string
  readonly end: string
  /** Only where the stretches of a path have durations of their own; else the star keeps one speed. */
  readonly duration?: number
}

/** What one star follows. */
export interface Path {
  /** The shape; those of a chain one after the other, such as `-q-`. */
  readonly shape: string
  /** Where a single `V` turns. */
  readonly via?: string
  readonly end: string
  /** From the note's time until the star moves. */
  readonly wait: number
  /** Of the star's movement, over the whole path. */
  readonly duration: number
  readonly break: boolean
  /** Only of a chain. */
  readonly segments?: readonly Segment[]
}

export interface Slide extends Timed {
  readonly type: 'slide'
  readonly position: string
  /** Whether there is a note to be tapped at its start. */
  readonly head: boolean
  /** Of the head. */
  readonly break: boolean
  readonly ex: boolean
  readonly each: boolean
  /** Only where the head looks like an ordinary tap (`tap`), or like a rotating star. */
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

/** A note and how fast it approaches: 1 is the usual speed. */
export interface PlacedNote {
  readonly note: Note
  readonly scroll: number
}

export interface NoteCounts {
  readonly tap: number
  readonly hold: number
  readonly slide: number
  readonly touch: number
  readonly break: number
  readonly total: number
}

/**
 * Counts what is judged, as the score does. A slide is its head (a tap or a break; nothing if it has none) and one
 * slide or break for each path. A touch hold is a hold. A break hold is a break.
 */
export function countNotes(notes: Iterable<Note>): NoteCounts {
  const counts = { tap: 0, hold: 0, slide: 0, touch: 0, break: 0 }
  for (const note of notes) for (const kind of judgedAs(note)) counts[kind]++
  return { ...counts, total: counts.tap + counts.hold + counts.slide + counts.touch + counts.break }
}

type Judged = Exclude<keyof NoteCounts, 'total'>

/** What is judged of one note, in the order in which it comes. */
export function judgedAs(note: Note): Judged[] {
  if (note.type === 'touch') return ['touch']
  if (note.type === 'touchHold') return ['hold']
  if (note.type !== 'slide') return [note.break ? 'break' : note.type]
  const head: Judged[] = note.head ? [note.break ? 'break' : 'tap'] : []
  return [...head, ...note.paths.map((path): Judged => (path.break ? 'break' : 'slide'))]
}

/** When nothing of the note is left to do. */
export function endOf(note: Note): number {
  if (note.type === 'hold' || note.type === 'touchHold') return note.time + note.duration
  if (note.type !== 'slide') return note.time
  return note.time + Math.max(...note.paths.map(({ wait, duration }) => wait + duration))
}
