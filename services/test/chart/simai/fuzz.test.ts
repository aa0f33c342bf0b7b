import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runs } from '../../../../test/setup/runs.ts'
import { parseMaidata } from '../../../chart/simai/maidata.ts'
import { countNotes } from '../../../chart/simai/notes.ts'

/** Whatever is given to the parser, it answers, and every problem is told at a place of the text. */
function mustAnswer(text: string): void {
  const { charts, errors, warnings } = parseMaidata(text)
  const lines = text.split(/\r\n|\r|\n/)
  for (const { line, column, problem } of [...errors, ...warnings]) {
    expect(problem).not.toBe('')
    expect(line).toBeGreaterThanOrEqual(1)
    expect(line).toBeLessThanOrEqual(lines.length)
    expect(column).toBeGreaterThanOrEqual(1)
    expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1)
  }
  expect(errors.length).toBeLessThanOrEqual(7 + 2)
  expect(warnings.length).toBeLessThanOrEqual(7 * 51 + lines.length + 10)
  for (const { notes, bpm, duration } of charts) {
    expect(bpm).toBeGreaterThan(0)
    expect(countNotes(notes.map(({ note }) => note)).total).toBeLessThanOrEqual(20_000)
    expect(Number.isFinite(duration)).toBe(true)
    let before = 0
    for (const { note } of notes) {
      expect(note.time).toBeGreaterThanOrEqual(before)
      before = note.time
    }
  }
  if (errors.length === 0) expect(charts.length).toBeGreaterThan(0)
}

const VALID = `&title=T
&artist=A
&des_5=D
&first=0.5
&lv_5=13
&inote_4=(90){1}1,E
&inote_5=(120){4}1,2b,3/7x,4h[4:2]/5,
{8}5\`6,6b$$,1b-5[4:1]b*V36[8:3],,|| remark
C,Chf[4:1],12,1?pp4q7-2[160#8:3],{#0.3}E1f,B2h[#1],<HS*1.5>8@w4[1##2:1],E
`

const BODY = VALID.slice(VALID.indexOf('&inote_5=') + '&inote_5='.length)

/** Characters that the notation has nowhere. */
const FOREIGN = [...'~;=%&_+"\'\\GZagijklmnortuy|音\u{1F3B5}']
/** Characters of the notation too; not the comma, and not the E, which ends a chart where it stands alone. */
const ODD = [...FOREIGN, ...'0123456789ABCDHSbfhpqsvVwxz$@?!^<>*/`()[]{}#:.-']

/** One second each. */
const GROUPS =
  '1|2b|3/7x|4h[4:2]/5|5`6|6b$$|1b-5[4:1]b*V36[8:3]||C|Chf[4:1]|12|1?pp4q7-2[160#8:3]|E1f|B2h[#1]|8@w4[1##2:1]'.split(
    '|',
  )

interface Timed {
  readonly time: number
}

/** The characters on both sides of a place in the body. */
function around(at: number): string {
  return BODY.slice(Math.max(0, at - 1), at) + BODY.slice(at, at + 1).replace(/[^|]/, '')
}

function notesOf(body: string): Timed[] {
  const { charts, errors } = parseMaidata(`&title=T\n&inote_5=${body}`)
  expect([charts.length, errors], body).toEqual([1, []])
  return charts[0]?.notes.map(({ note }) => note) ?? []
}

/** Pieces of the notation in any order. */
const soup = fc
  .array(
    fc.oneof(
      fc.constantFrom(...'12345678bxhf$@?!-^<>vVpqszwABCDE,/`*|[]:#(){}. \n&='),
      fc.constantFrom(...'(120) {8} {#0.1} [4:1] [#1] [1##2] || <HS*2> ,, 1-5[4:1] 999999999'.split(' ')),
    ),
    { maxLength: 200 },
  )
  .map((pieces) => pieces.join(''))

it('the parser reads any text', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), mustAnswer), { numRuns: runs(200) })
})

it('the parser reads any mixture of the notation', () => {
  fc.assert(
    fc.property(soup, (body) => mustAnswer(`&title=T\n&inote_5=(120)${body}`)),
    { numRuns: runs(1500) },
  )
  fc.assert(
    fc.property(soup, (text) => mustAnswer(`&title=T\n${text}`)),
    { numRuns: runs(500) },
  )
})

it('the parser reads a chart of which a part is cut out, doubled or replaced', () => {
  const at = fc.nat({ max: VALID.length })
  fc.assert(
    fc.property(
      at,
      at,
      fc.oneof(fc.constant(''), soup, fc.string({ maxLength: 5 })),
      fc.boolean(),
      (a, b, put, twice) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)]
        const part = twice ? VALID.slice(from, to).repeat(2) : ''
        mustAnswer(VALID.slice(0, from) + part + put + VALID.slice(to))
      },
    ),
    { numRuns: runs(1500) },
  )
})

it('the parser keeps the chart and all its notes if a character that is no part of the notation is put in, anywhere', () => {
  fc.assert(
    fc.property(fc.nat({ max: BODY.length }), fc.constantFrom(...FOREIGN), (at, stray) => {
      fc.pre(!(stray === '|' && /(^|[\n|])$|^\|/.test(around(at))))
      expect(notesOf(BODY.slice(0, at) + stray + BODY.slice(at))).toEqual(notesOf(BODY))
    }),
    { numRuns: runs(1500) },
  )
})

it('the parser keeps all notes of other commas if any character but a comma is put into a group of notes', () => {
  fc.assert(
    fc.property(fc.nat({ max: GROUPS.length - 1 }), fc.nat({ max: 20 }), fc.constantFrom(...ODD), (n, at, odd) => {
      const group = GROUPS[n] ?? ''
      const place = Math.min(at, group.length)
      const changed = GROUPS.with(n, group.slice(0, place) + odd + group.slice(place))
      const others = (notes: unknown[]) => notes.filter((note) => Math.floor((note as Timed).time) !== n)
      expect(others(notesOf(`(60){4}${changed.join(',')},E`))).toEqual(others(notesOf(`(60){4}${GROUPS.join(',')},E`)))
    }),
    { numRuns: runs(3000) },
  )
})

it('the parser keeps all notes if an empty each is put beside any of them', () => {
  fc.assert(
    fc.property(fc.nat({ max: GROUPS.length - 1 }), fc.nat({ max: 9 }), fc.boolean(), (n, part, before) => {
      const parts = (GROUPS[n] ?? '').split('/')
      const place = part % parts.length
      const odd = parts.with(place, before ? `/${parts[place]}` : `${parts[place]}/`).join('/')
      const changed = GROUPS.with(n, odd)
      expect(notesOf(`(60){4}${changed.join(',')},E`)).toEqual(notesOf(`(60){4}${GROUPS.join(',')},E`))
    }),
    { numRuns: runs(500) },
  )
})

it('the parser reads what is long', () => {
  const size = 150_000
  for (const piece of [...'1,([{|&\n `/*<\r', '||', '-1', '1/', '1`', '(1)', '{7}', '1-4']) {
    mustAnswer(`&title=T\n&inote_5=(120)1${piece.repeat(size / piece.length)}`)
    mustAnswer(`&title=T\n${piece.repeat(size / piece.length)}`)
  }
})

it('the parser reads thousands of lengths that have no common one', () => {
  const body = Array.from({ length: 15_000 }, (_, i) => `{${1000 + i}}1,`).join('')
  const { charts } = parseMaidata(`&title=T\n&inote_5=(120)${body}E`)
  expect(charts[0]?.notes).toHaveLength(15_000)
})
