import { describe, expect, it } from 'vitest'
import { parseMaidata } from '../../../chart/simai/maidata.ts'
import { countNotes, type Note } from '../../../chart/simai/notes.ts'

/** What each notation means. All at 120 bpm, where a beat lasts half a second. */

/** A body on the second line of the file's chart, so that columns are easy to count. */
function parse(body: string) {
  const { charts, errors, warnings } = parseMaidata(`&title=T\n&inote_5=(120)\n${body}`)
  const lines = (problems: typeof errors) => problems.map((each) => `${each.line}:${each.column} ${each.problem}`)
  return { notes: charts[0]?.notes.map(({ note }) => note), errors: lines(errors), warnings: lines(warnings) }
}

/** The notes of a sound body. */
function read(body: string): Note[] {
  const { notes, errors, warnings } = parse(body)
  expect([errors, warnings]).toEqual([[], []])
  return notes ?? []
}

/** The notes of a body as its warnings leave them, with kind, position and time. */
function told(body: string): string {
  const { notes = [], errors } = parse(body)
  expect(errors).toEqual([])
  return notes.map(({ type, position, time }) => `${type} ${position} ${time}`).join(', ')
}

const TAP = { time: 0, type: 'tap', position: '1', break: false, ex: false, each: false }
const HOLD = { time: 0, type: 'hold', position: '1', duration: 0.5, break: false, ex: false, each: false }
const PATH = { shape: '-', end: '5', wait: 0.5, duration: 0.5, break: false }
const SLIDE = {
  time: 0,
  type: 'slide',
  position: '1',
  head: true,
  break: false,
  ex: false,
  each: false,
  paths: [PATH],
}
const TOUCH = { time: 0, type: 'touch', position: 'B1', firework: false, each: false }

describe('a tap', () => {
  it.each([
    ['1', TAP],
    ['8', { ...TAP, position: '8' }],
    ['1b', { ...TAP, break: true }],
    ['1x', { ...TAP, ex: true }],
    ['1bx', { ...TAP, break: true, ex: true }],
    ['1xb', { ...TAP, break: true, ex: true }],
    ['1$', { ...TAP, star: 'still' }],
    ['1$$', { ...TAP, star: 'rotating' }],
    ['1b$$x', { ...TAP, break: true, ex: true, star: 'rotating' }],
  ])('%s', (body, note) => {
    expect(JSON.stringify(read(`${body},E`))).toBe(JSON.stringify([note]))
  })
})

describe('a hold', () => {
  it.each([
    ['1h[4:1]', HOLD],
    ['1h[4:2]', { ...HOLD, duration: 1 }],
    ['1h[#1.5]', { ...HOLD, duration: 1.5 }],
    ['1h[60#4:1]', { ...HOLD, duration: 1 }],
    ['1hb[4:1]', { ...HOLD, break: true }],
    ['1bh[4:1]', { ...HOLD, break: true }],
    ['1h[4:1]b', { ...HOLD, break: true }],
    ['1xhb[4:1]', { ...HOLD, break: true, ex: true }],
    ['1h', { ...HOLD, duration: 240 / 120 / 1280 }],
    ['1h[4:0]', { ...HOLD, duration: 0 }],
  ])('%s', (body, note) => {
    expect(JSON.stringify(read(`${body},E`))).toBe(JSON.stringify([note]))
  })
})

describe('a slide', () => {
  it.each([
    ['1-5[4:1]', SLIDE],
    ['1b-5[4:1]', { ...SLIDE, break: true }],
    ['1x-5[4:1]', { ...SLIDE, ex: true }],
    ['1-5[4:1]b', { ...SLIDE, paths: [{ ...PATH, break: true }] }],
    ['1-5b[4:1]', { ...SLIDE, paths: [{ ...PATH, break: true }] }],
    ['1b-5[4:1]b', { ...SLIDE, break: true, paths: [{ ...PATH, break: true }] }],
    ['1?-5[4:1]', { ...SLIDE, head: false }],
    ['1!-5[4:1]', { ...SLIDE, head: false }],
    ['1b?-5[4:1]', { ...SLIDE, head: false }],
    ['1$-5[4:1]', SLIDE],
    ['1V35[4:1]', { ...SLIDE, paths: [{ ...PATH, shape: 'V', via: '3', end: '5', wait: 0.5, duration: 0.5 }] }],
  ])('%s', (body, note) => {
    expect(read(`${body},E`)).toEqual([note])
  })

  it('a slide shows its head as a tap or as a rotating star', () => {
    expect(read('1@-5[4:1],1$$-5[4:1],E')).toEqual([
      { ...SLIDE, look: 'tap' },
      { ...SLIDE, time: 0.5, look: 'rotating' },
    ])
  })

  it.each(['-3', '^3', '<1', '>1', 'v3', 'v4', 'V37', 'p1', 'q8', 'pp3', 'qq3', 's5', 'z5', 'w5'])(
    'a slide has its shape, via and end from 1%s[4:1]',
    (path) => {
      const [note] = read(`1${path}[4:1],E`)
      expect(note?.type === 'slide' && note.paths[0]).toMatchObject({
        shape: path.replace(/\d/g, ''),
        end: path.at(-1),
      })
    },
  )

  it.each([
    ['[4:1]', 0.5, 0.5],
    ['[8:3]', 0.5, 0.75],
    ['[#1.5]', 0.5, 1.5],
    ['[60#4:1]', 1, 1],
    ['[60#2]', 1, 2],
    ['[3##1.5]', 3, 1.5],
    ['[3##8:3]', 3, 0.75],
    ['[3##60#8:3]', 3, 1.5],
    ['[0##.5]', 0, 0.5],
  ])('a slide waits and lasts as %s says', (duration, wait, seconds) => {
    expect(read(`1-5${duration},E`)).toEqual([{ ...SLIDE, paths: [{ ...PATH, wait, duration: seconds }] }])
  })

  it('a slide may be several from one star', () => {
    expect(read('1-4[4:3]*-6[8:5]b*V75[4:1],E')).toEqual([
      {
        ...SLIDE,
        paths: [
          { ...PATH, end: '4', duration: 1.5 },
          { ...PATH, end: '6', duration: 1.25, break: true },
          { shape: 'V', via: '7', end: '5', wait: 0.5, duration: 0.5, break: false },
        ],
      },
    ])
  })

  it('a slide may be a chain, with one duration for all of it', () => {
    const segments = [
      { shape: '-', end: '4' },
      { shape: 'q', end: '7' },
      { shape: 'V', via: '1', end: '5' },
    ]
    expect(read('1-4q7V15[1:2]b,E')).toEqual([
      { ...SLIDE, paths: [{ shape: '-qV', end: '5', wait: 0.5, duration: 4, break: true, segments }] },
    ])
  })

  it('a slide may be a chain with a duration for each of its slides; the first says how long the star waits', () => {
    const segments = [
      { shape: '-', end: '4', duration: 1 },
      { shape: 'pp', end: '7', duration: 0.5 },
    ]
    expect(read('1-4[2##2:1]pp7[4:1],E')).toEqual([
      { ...SLIDE, paths: [{ shape: '-pp', end: '7', wait: 2, duration: 1.5, break: false, segments }] },
    ])
  })
})

describe('a touch', () => {
  it.each([
    ['B1', TOUCH],
    ['E8', { ...TOUCH, position: 'E8' }],
    ['C', { ...TOUCH, position: 'C' }],
    ['C1', { ...TOUCH, position: 'C' }],
    ['C2f', { ...TOUCH, position: 'C', firework: true }],
    ['B1h[4:1]', { time: 0, type: 'touchHold', position: 'B1', duration: 0.5, firework: false, each: false }],
    ['Chf[4:1]', { time: 0, type: 'touchHold', position: 'C', duration: 0.5, firework: true, each: false }],
    ['Cfh[4:1]', { time: 0, type: 'touchHold', position: 'C', duration: 0.5, firework: true, each: false }],
    ['Ch', { time: 0, type: 'touchHold', position: 'C', duration: 240 / 120 / 1280, firework: false, each: false }],
  ])('%s', (body, note) => {
    expect(JSON.stringify(read(`${body},E`))).toBe(JSON.stringify([note]))
  })
})

const inEach = (body: string) => read(body).map(({ time, position, each }) => `${time} ${position} ${each}`)

it('notes of one moment are an EACH, whether they are parted or written together', () => {
  expect(inEach('1/2,34,567,E1/8h,E')).toEqual([
    '0 1 true',
    '0 2 true',
    '0.5 3 true',
    '0.5 4 true',
    '1 5 true',
    '1 6 true',
    '1 7 true',
    '1.5 E1 true',
    '1.5 8 true',
  ])
})

it('notes of one moment are none where a backtick puts a millisecond between them', () => {
  expect(inEach('1`2`3/4,5,E')).toEqual(['0 1 false', '0.001 2 false', '0.002 3 true', '0.002 4 true', '0.5 5 false'])
})

describe('time', () => {
  const times = (body: string) => read(body).map(({ time }) => time)

  it.each([
    ['1,1,E', [0, 0.5]],
    ['{8}1,1,E', [0, 0.25]],
    ['{1}1,{16}1,1,E', [0, 2, 2.125]],
    ['{#0.35}1,1,{4}1,1,E', [0, 0.35, 0.7, 1.2]],
    ['1,(60)1,1,E', [0, 0.5, 1.5]],
    ['1,(60){8}1,1,(120)1,1,E', [0, 0.5, 1, 1.5, 1.75]],
    ['{#0.5}1,(60)1,1,E', [0, 0.5, 1]],
    ['{4.5}1,1,E', [0, 240 / 120 / 4.5]],
    ['1{8},1,E', [0, 0.25]],
    [',,,1,E', [1.5]],
  ])('%s', (body, expected) => {
    expect(times(body)).toEqual(expected)
  })

  it('time of holds and slides is measured in the tempo in which they begin', () => {
    expect(read('1h[4:2],(60)2-6[4:1],E')).toEqual([
      { ...HOLD, duration: 1 },
      { ...SLIDE, time: 0.5, position: '2', paths: [{ ...PATH, end: '6', wait: 1, duration: 1 }] },
    ])
  })
})

it('what means nothing is white space, and comments up to the end of their line', () => {
  const spaced = '|| 9 , (\n 1 - 4 [\t4 : 1 ] , || 3,3,3\r\n E\u30001 , E || after\n'
  expect(read(spaced)).toEqual(read('1-4[4:1],E1,E'))
})

it('what means nothing is a scroll speed, for the notes themselves', () => {
  const { charts } = parseMaidata('&title=T\n&inote_5=(120)1,<HS*1.5>2,<HS*0.5>3>5[4:1],<HS*1>4,E')
  expect(charts[0]?.notes.map(({ scroll }) => scroll)).toEqual([1, 1.5, 0.5, 1])
})

it('what means nothing is a missing E at the end', () => {
  expect(read('1,2')).toEqual(read('1,2,E'))
})

describe('counting', () => {
  it.each([
    ['1', { tap: 1 }],
    ['1b', { break: 1 }],
    ['1h[4:1]', { hold: 1 }],
    ['1hb[4:1]', { break: 1 }],
    ['C', { touch: 1 }],
    ['Chf[4:1]', { hold: 1 }],
    ['1-5[4:1]', { tap: 1, slide: 1 }],
    ['1b-5[4:1]', { break: 1, slide: 1 }],
    ['1-5[4:1]b', { tap: 1, break: 1 }],
    ['1b-5[4:1]b', { break: 2 }],
    ['1?-5[4:1]', { slide: 1 }],
    ['1b!-5[4:1]', { slide: 1 }],
    ['1@-5[4:1]', { tap: 1, slide: 1 }],
    ['1-5[4:1]*-4[4:1]b*w5[4:1]', { tap: 1, slide: 2, break: 1 }],
    ['1-4q7-2[1:2]', { tap: 1, slide: 1 }],
    ['1-4[2:1]q7[2:1]-2[1:1]b', { tap: 1, break: 1 }],
  ])('%s', (body, counts) => {
    const none = { tap: 0, hold: 0, slide: 0, touch: 0, break: 0 }
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    expect(countNotes(read(`${body},E`))).toEqual({ ...none, ...counts, total })
  })
})

const NO_NOTE = 'expected a note (1 to 8, A1 to E8 or C) but found'
const NO_COMMA = 'expected a comma or / after a note but found'

describe('an oddity', () => {
  it.each([
    ['C4,E', 'touch C 0', '3:1 a C has no number but 1 or 2; C4 is read as C'],
    ['C4f,E', 'touch C 0', '3:1 a C has no number but 1 or 2; C4 is read as C'],
    ['Ch[16:1]f,E', 'touchHold C 0', '3:9 the f of a touch hold stands before its duration'],
    ['Chf[4:1]f,E', 'touchHold C 0', '3:9 f is there twice'],
    ['17.,2,E', 'tap 1 0, tap 7 0, tap 2 0.5', '3:3 "." is no part of the notation'],
    ['1~2,E', 'tap 1 0, tap 2 0', '3:2 "~" is no part of the notation'],
    ['1,\n| 5:08\n2,E', 'tap 1 0, tap 2 0.5', '4:1 a comment begins with ||; "| 5:08" is read as one'],
    ['1,\n| 2,3,E', 'tap 1 0, tap 2 0.5, tap 3 1', '4:1 "|" is no part of the notation'],
    ['1,2,E thanks, all', 'tap 1 0, tap 2 0.5', '3:7 expected nothing after the E that ends the chart; it is not read'],
    ['1,2,E\n谢谢', 'tap 1 0, tap 2 0.5', '4:1 expected nothing after the E that ends the chart; it is not read'],
    ['1,E,2,E', 'tap 1 0, tap 2 1', `3:3 ${NO_NOTE} "E"`],
    ['1,2,E,', 'tap 1 0, tap 2 0.5', `3:5 ${NO_NOTE} "E"`],
    ['1E,2,E', 'tap 1 0, tap 2 0.5', `3:2 ${NO_COMMA} "E"`],
    ['1/E,2,E', 'tap 1 0, tap 2 0.5', `3:3 ${NO_NOTE} "E"`],
    ['Eh[4:1],2,E', 'tap 2 0.5', `3:1 ${NO_NOTE} "E"`],
    ['1/2/,E', 'tap 1 0, tap 2 0', `3:5 ${NO_NOTE} ","`],
    ['/1,E', 'tap 1 0', `3:1 ${NO_NOTE} "/"`],
    ['1//2,E', 'tap 1 0, tap 2 0', `3:3 ${NO_NOTE} "/"`],
    ['1/2/', 'tap 1 0, tap 2 0', `3:5 ${NO_NOTE} the end of the chart`],
    ['1`,2,E', 'tap 1 0, tap 2 0.5', `3:3 ${NO_NOTE} ","`],
    ['9,1,E', 'tap 1 0.5', `3:1 ${NO_NOTE} "9"`],
    ['1,\n  F1,E', 'tap 1 0, tap 1 0.5', '4:3 "F" is no part of the notation'],
    ['B9,1,E', 'tap 1 0.5', `3:1 ${NO_NOTE} "B"`],
    ['1 2b,E', 'tap 1 0, tap 2 0', `3:4 ${NO_COMMA} "b"`],
    ['1C,E', 'tap 1 0', `3:2 ${NO_COMMA} "C"`],
    ['1(,2,E', 'tap 1 0, tap 2 0.5', `3:2 ${NO_COMMA} "("`],
    ['1{8}2,1,E', 'tap 1 0, tap 2 0, tap 1 0.25', `3:5 ${NO_COMMA} "2"`],
    ['1bb,E', 'tap 1 0', '3:2 b is there twice'],
    ['1$$$,E', 'tap 1 0', '3:2 $ stands once or twice'],
    ['1$b$,E', 'tap 1 0', '3:2 $ is there twice'],
    ['1@,E', 'tap 1 0', '3:2 @ belongs to the head of a slide'],
    ['1?h,E', 'hold 1 0', '3:2 ? belongs to the head of a slide'],
    ['1$h,E', 'hold 1 0', '3:2 $ belongs to a tap'],
    ['1bh[4:1]b,E', 'hold 1 0', '3:9 b is there twice'],
    ['Cff,E', 'touch C 0', '3:2 f is there twice'],
    ['Cx,E', 'touch C 0', `3:2 ${NO_COMMA} "x"`],
    ['1?@-5[4:1],E', 'slide 1 0', '3:2 @ and ? contradict each other'],
    ['8v8[8:1],E', 'slide 8 0', '3:2 not every player knows a slide v to its start, such as 8v8'],
    ['1h-5[4:1],E', 'slide 1 0', '3:2 h makes a hold, which no slide is; it is read as a slide'],
    ['1-4b-7[4:1],E', 'slide 1 0', '3:5 the b of a chain of slides stands at its end'],
    ['1-4b[4:1]b,E', 'slide 1 0', '3:11 b is there twice'],
    ['1.-5[4:1],E', 'slide 1 0', '3:2 "." is no part of the notation'],
    ['1h[4!:1],E', 'hold 1 0', '3:3 [4!:1] is read as [4:1]'],
    ['(0)1,1,E', 'tap 1 0, tap 1 0.5', '3:1 (0) is zero'],
    ['(/)1,1,E', 'tap 1 0, tap 1 0.5', `3:1 ${NO_NOTE} "("`],
    ['(1~20)1,1,E', 'tap 1 0, tap 1 0.5', '3:3 "~" is no part of the notation'],
    ['(6b0)1,1,E', 'tap 1 0, tap 1 1', '3:1 (6b0) is read as (60)'],
    ['{0}1,1,E', 'tap 1 0, tap 1 0.5', '3:1 {0} is zero'],
    ['{#}1,1,E', 'tap 1 0, tap 1 0.5', '3:1 expected the length of a comma such as {8} or {#0.35}'],
    ['{-8}1,1,E', 'tap 1 0, tap 1 0.25', '3:1 {-8} is read as {8}'],
    ['<HS*0>1,E', 'tap 1 0', '3:1 <HS*0> is zero'],
    ['<HS*x>1,E', 'tap 1 0', '3:1 expected a scroll speed such as <HS*1.5>'],
  ])('%s is read as far as it goes', (body, notes, warning) => {
    expect(told(body)).toBe(notes)
    expect(parse(body).warnings).toContain(warning)
  })

  it('an oddity leaves a touch hold its firework behind the duration', () => {
    expect(parse('Ch[16:1]f,E').notes).toEqual(read('Chf[16:1],E'))
  })

  it.each([
    ['1-2[4:1]', '3:2 a straight slide ends two buttons or more from its start, not 1-2'],
    ['8-1[4:1]', '3:2 a straight slide ends two buttons or more from its start, not 8-1'],
    ['1^5[4:1]', '3:2 1^5 has no shorter way round; write < or >'],
    ['1v5[4:1]', '3:2 1v5 is a straight line; write 1-5'],
    ['1V46[4:1]', '3:2 a slide V turns two buttons from its start, not 1V46'],
    ['1V34[4:1]', '3:2 a slide V ends two buttons or more from its turn, not 1V34'],
    ['1s4[4:1]', '3:2 a slide s ends opposite its start, which is not 1s4'],
    ['1-4z7[4:1]', '3:4 a slide z ends opposite its start, which is not 4z7'],
    ['1V3[4:1]', '3:4 expected the button where the slide ends but found "["'],
    ['1-5', '3:4 expected the duration of the slide, such as [4:1]'],
    ['1-4[4:1]q7', '3:11 expected the duration of the slide, such as [4:1]'],
    ['1-4[4:1]q7-2[4:1]', '3:9 a chain has one duration at its end, or one for each of its slides'],
    ['1-4[4:1]*', '3:10 expected the shape of a slide but found "/"'],
    ['1h[4:1', '3:3 a [ without its ]'],
    ['1h[4]', '3:3 [4] is no duration; write [4:2] for two quarter notes or [#1.5] for seconds'],
    ['1h[]', '3:3 [] is no duration; write [4:2] for two quarter notes or [#1.5] for seconds'],
    ['1h[#4:1]', '3:3 [#4:1] is no duration; write [4:2] for two quarter notes or [#1.5] for seconds'],
    ['1-5[1##60#2]', '3:4 [1##60#2] is no duration; write [4:2] for two quarter notes or [#1.5] for seconds'],
    ['1h[1##2]', '3:3 [1##2] is a duration of slides; a hold has [n:k], [#seconds] or [bpm#n:k]'],
    ['1h[60#2]', '3:3 [60#2] is a duration of slides; a hold has [n:k], [#seconds] or [bpm#n:k]'],
    ['1h[0:1]', '3:3 [0:1] divides by zero'],
    ['1-5[0#1]', '3:4 [0#1] divides by zero'],
    ['1h[#3601]', '3:3 [#3601] is longer than an hour'],
    ['1h[1:999999999]', '3:3 [1:999999999] is longer than an hour'],
    [`1${'-4-1'.repeat(20)}[4:1]`, '3:66 a chain of more than 32 slides'],
    [`1-4[4:1]${'*-4[4:1]'.repeat(40)}`, '3:258 more than 32 slides from one star'],
  ])('%s costs its note and no other', (body, warning) => {
    expect(told(`${body}/3,2,E`)).toBe('tap 3 0, tap 2 0.5')
    expect(parse(`${body}/3,2,E`).warnings).toContain(warning)
  })

  it('an oddity hides no other: all of a chart are reported, in the order of the file', () => {
    const { warnings } = parseMaidata('&title=T\n&inote_5=(120)9,1,2-3[4:1],\n1h[,{0},\n8^4[4:1],E')
    expect(warnings.map(({ line, column }) => `${line}:${column}`)).toEqual(['2:15', '2:20', '3:3', '3:5', '4:2'])
  })

  it('an oddity of a kind that never ends is reported fifty times, and the chart is read to its end', () => {
    const { charts, warnings } = parseMaidata(`&title=T\n&inote_5=(120)${'9,'.repeat(1000)}1,E`)
    expect(charts[0]?.notes).toMatchObject([{ note: { position: '1', time: 500 } }])
    expect(warnings).toHaveLength(51)
    expect(warnings.at(-1)?.problem).toBe('950 more warnings from here on are not named')
  })

  it('an oddity is no tail of commas that lasts longer than an hour', () => {
    expect(read(`1,${','.repeat(10_000)}E`)).toEqual([TAP])
  })
})

describe('an error', () => {
  it.each([
    ['{#3601},1,E', '3:9 a note later than an hour'],
    [`${'1/'.repeat(20_000)}1,E`, '3:1 more than 20000 notes'],
    ['{4},,,E', '2:10 the chart has no note'],
  ])('%s leaves no chart', (body, error) => {
    const { notes, errors } = parse(body)
    expect([notes, errors]).toEqual([undefined, [error]])
  })

  it.each(['1,', ',1', '1h[4:1],'])('an error is a chart without a tempo: %s', (body) => {
    const { charts, errors } = parseMaidata(`&title=T\n&inote_5={8}${body}E`)
    expect(errors).toEqual([{ line: 2, column: 13, problem: expect.stringContaining('before the first tempo') }])
    expect(charts).toEqual([])
  })
})
