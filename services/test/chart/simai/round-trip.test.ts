import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseMaidata } from '../../../chart/simai/maidata.ts'
import { countNotes } from '../../../chart/simai/notes.ts'

/** A chart that is made up, printed, and read again is the same chart. */

interface Printed {
  readonly text: string
  /** Without its time and EACH; times of its parts by the bpm of the chart. */
  readonly note: (bpm: number) => object
  readonly counts: Partial<Record<'tap' | 'hold' | 'slide' | 'touch' | 'break', number>>
}

const button = fc.constantFrom(...'12345678')
const flag = fc.boolean()
const share = fc.record({ n: fc.constantFrom(1, 2, 4, 8, 12, 16, 24), k: fc.integer({ min: 1, max: 7 }) })

/** How a length of time is written, and what it is. */
const length = fc.oneof(
  share.map(({ n, k }) => ({ text: `${n}:${k}`, seconds: (bpm: number) => (k * 240) / (n * bpm) })),
  fc.integer({ min: 1, max: 9999 }).map((ms) => ({ text: `#${ms / 1000}`, seconds: () => ms / 1000 })),
  fc.record({ own: fc.integer({ min: 30, max: 300 }), part: share }).map(({ own, part: { n, k } }) => ({
    text: `${own}#${n}:${k}`,
    seconds: () => (k * 240) / (n * own),
    beat: 60 / own,
  })),
)

const tap: fc.Arbitrary<Printed> = fc
  .record({ position: button, isBreak: flag, ex: flag, star: fc.constantFrom(undefined, 'still', 'rotating') })
  .map(({ position, isBreak, ex, star }) => ({
    text: position + (ex ? 'x' : '') + (star === undefined ? '' : star === 'still' ? '$' : '$$') + (isBreak ? 'b' : ''),
    note: () => ({ type: 'tap', position, break: isBreak, ex, ...(star !== undefined && { star }) }),
    counts: isBreak ? { break: 1 } : { tap: 1 },
  }))

const hold: fc.Arbitrary<Printed> = fc
  .record({ position: button, isBreak: flag, ex: flag, duration: length })
  .map(({ position, isBreak, ex, duration }) => ({
    text: `${position}${isBreak ? 'b' : ''}h${ex ? 'x' : ''}[${duration.text}]`,
    note: (bpm) => ({ type: 'hold', position, duration: duration.seconds(bpm), break: isBreak, ex }),
    counts: isBreak ? { break: 1 } : { hold: 1 },
  }))

const sensor = fc.oneof(
  fc.constant('C'),
  fc.tuple(fc.constantFrom(...'ABDE'), button).map((parts) => parts.join('')),
)

const touch: fc.Arbitrary<Printed> = fc
  .record({ position: sensor, firework: flag, duration: fc.option(length) })
  .map(({ position, firework, duration }) => ({
    text:
      position +
      (duration === null ? '' : 'h') +
      (firework ? 'f' : '') +
      (duration === null ? '' : `[${duration.text}]`),
    note: (bpm) =>
      duration === null
        ? { type: 'touch', position, firework }
        : { type: 'touchHold', position, duration: duration.seconds(bpm), firework },
    counts: duration === null ? { touch: 1 } : { hold: 1 },
  }))

const turned = (from: string, by: number) => String(((Number(from) - 1 + by + 16) % 8) + 1)

/** Ends that every shape allows, as steps from the start. */
const leap = fc.oneof(
  fc.record({ shape: fc.constant('-'), by: fc.integer({ min: 2, max: 6 }) }),
  fc.record({ shape: fc.constant('^'), by: fc.constantFrom(1, 2, 3, 5, 6, 7) }),
  fc.record({ shape: fc.constant('v'), by: fc.constantFrom(1, 2, 3, 5, 6, 7) }),
  fc.record({ shape: fc.constantFrom('<', '>', 'p', 'q', 'pp', 'qq'), by: fc.integer({ min: 0, max: 7 }) }),
  fc.record({ shape: fc.constantFrom('s', 'z', 'w'), by: fc.constant(4) }),
  fc.record({ shape: fc.constant('V'), by: fc.constantFrom(4, 5, 6, 7, 8), via: fc.constant(2) }),
  fc.record({ shape: fc.constant('V'), by: fc.constantFrom(0, 1, 2, 3, 4), via: fc.constant(-2) }),
)

interface Leap {
  readonly shape: string
  readonly by: number
  readonly via?: number
}

const path = fc.record({
  leaps: fc.array(leap, { minLength: 1, maxLength: 3 }),
  durations: fc.array(length, { minLength: 3, maxLength: 3 }),
  own: flag,
  isBreak: flag,
  wait: fc.option(fc.integer({ min: 0, max: 3000 })),
})

type PathPlan = typeof path extends fc.Arbitrary<infer T> ? T : never

/** A path as text and as it must be read. */
function printPath(start: string, { leaps, durations, own, isBreak, wait }: PathPlan) {
  let from = start
  const segments = (leaps as Leap[]).map(({ shape, by, via }) => {
    const segment = { shape, ...(via !== undefined && { via: turned(from, via) }), end: turned(from, by) }
    from = segment.end
    return segment
  })
  const isOwn = own && segments.length > 1
  const used = isOwn ? durations.slice(0, segments.length) : durations.slice(0, 1)
  const first = used[0] as (typeof durations)[number]
  // A wait of its own stands before seconds or a share, which loses its #.
  const opening = wait === null ? first.text : `${wait / 1000}##${first.text.replace(/^#/, '')}`
  const text = segments.map(({ shape, via = '', end }, index) => {
    const duration =
      index === 0 && isOwn ? opening : isOwn ? used[index]?.text : index === segments.length - 1 ? opening : undefined
    return shape + via + end + (duration === undefined ? '' : `[${duration}]`)
  })
  return {
    text: text.join('') + (isBreak ? 'b' : ''),
    path: (bpm: number) => ({
      shape: segments.map(({ shape }) => shape).join(''),
      ...(segments.length === 1 && segments[0]?.via !== undefined && { via: segments[0].via }),
      end: from,
      wait: wait !== null ? wait / 1000 : 'beat' in first ? first.beat : 60 / bpm,
      duration: used.reduce((sum, { seconds }) => sum + seconds(bpm), 0),
      break: isBreak,
      ...(segments.length > 1 && {
        segments: segments.map((segment, index) =>
          isOwn ? { ...segment, duration: used[index]?.seconds(bpm) } : segment,
        ),
      }),
    }),
    isBreak,
  }
}

const slide: fc.Arbitrary<Printed> = fc
  .record({
    position: button,
    isBreak: flag,
    ex: flag,
    look: fc.constantFrom('', '@', '?', '!', '$$'),
    paths: fc.array(path, { minLength: 1, maxLength: 3 }),
  })
  .map(({ position, isBreak, ex, look, paths }) => {
    const head = look !== '?' && look !== '!'
    const printed = paths.map((plan) => printPath(position, plan))
    const breaks = printed.filter((each) => each.isBreak).length
    return {
      text: position + (isBreak ? 'b' : '') + look + (ex ? 'x' : '') + printed.map(({ text }) => text).join('*'),
      note: (bpm) => ({
        type: 'slide',
        position,
        head,
        break: head && isBreak,
        ex: head && ex,
        ...(look === '@' && { look: 'tap' }),
        ...(look === '$$' && { look: 'rotating' }),
        paths: printed.map((each) => each.path(bpm)),
      }),
      counts: {
        tap: head && !isBreak ? 1 : 0,
        slide: printed.length - breaks,
        break: breaks + (head && isBreak ? 1 : 0),
      },
    }
  })

const anyNote = fc.oneof(tap, hold, touch, slide)
const group = fc.array(anyNote, { minLength: 1, maxLength: 3 })
const comma = fc.record({
  bpm: fc.option(fc.integer({ min: 30, max: 300 }), { freq: 4 }),
  divisor: fc.option(fc.constantFrom(1, 2, 4, 8, 12, 16, 24, 32), { freq: 2 }),
  groups: fc.array(group, { maxLength: 2 }),
})
const gap = fc.constantFrom('', '', '', ' ', '\n', '\t', ' || remark, 1/2 [ (\n', '\r\n  ')

/** A note whose time, a sum of seven lengths, lies right beside a half of a nanosecond: chance finds one in 800,000 runs. */
const BESIDE_A_HALF = [
  ...[
    [121, 2],
    [92, 2],
    [70, 4],
    [292, 4],
    [212, 2],
    [245, 1],
    [77, 2],
  ].map(([bpm = 0, divisor = 0]) => ({ bpm, divisor, groups: [] })),
  { bpm: null, divisor: null, groups: [[onlyTap()]] },
]
function onlyTap(): Printed {
  return { text: '1', note: () => ({ type: 'tap', position: '1', break: false, ex: false }), counts: { tap: 1 } }
}

/**
 * Numbers are told apart by what a double can tell after a few roundings. Not by rounding both: of two that are all but the
 * same, one may lie on the one side of a half and one on the other.
 */
function nearly(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, each) => (typeof each === 'number' ? expect.closeTo(each, 9) : each))
}

it('a chart that is printed and read again has the same notes at the same times, and the same counts', () => {
  fc.assert(
    fc.property(
      fc.array(comma, { minLength: 1, maxLength: 20 }),
      fc.array(gap, { minLength: 8, maxLength: 8 }),
      (commas, gaps) => {
        let [bpm, divisor, now, seam] = [120, 4, 0, 0]
        const space = () => gaps[seam++ % gaps.length] ?? ''
        const expected: object[] = []
        const counts = { tap: 0, hold: 0, slide: 0, touch: 0, break: 0 }
        let text = '(120){4}'
        for (const { bpm: tempo, divisor: lengthOfComma, groups } of commas) {
          if (tempo !== null) {
            bpm = tempo
            text += `(${tempo})${space()}`
          }
          if (lengthOfComma !== null) {
            divisor = lengthOfComma
            text += `{${lengthOfComma}}${space()}`
          }
          text += groups.map((notes) => notes.map((each) => each.text + space()).join('/')).join('`')
          for (const [index, notes] of groups.entries()) {
            for (const each of notes) {
              expected.push({ time: now + index / 1000, ...each.note(bpm), each: notes.length > 1 })
              for (const [kind, count] of Object.entries(each.counts)) counts[kind as keyof typeof counts] += count
            }
          }
          now += 240 / bpm / divisor
          text += `,${space()}`
        }
        const { charts, errors, warnings } = parseMaidata(`&title=T\n&inote_5=${text}E\n`)
        if (expected.length === 0) {
          expect(errors).toMatchObject([{ problem: 'the chart has no note' }])
          return
        }
        expect([errors, warnings], text).toEqual([[], []])
        const notes = charts[0]?.notes.map(({ note }) => note) ?? []
        expect(notes, text).toEqual(nearly(expected))
        const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
        expect(countNotes(notes)).toEqual({ ...counts, total })
      },
    ),
    { numRuns: 400, examples: [[BESIDE_A_HALF, Array(8).fill('')]] },
  )
})
