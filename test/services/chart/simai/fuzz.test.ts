import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMaidata } from '../../../../src/services/chart/simai/maidata.ts'
import { countNotes } from '../../../../src/services/chart/simai/notes.ts'

/** Whatever is given to the parser, it answers, and every problem is told at a place of the text. */
function mustAnswer(text: string): void {
  const { charts, problems } = parseMaidata(text)
  const lines = text.split(/\r\n|\r|\n/)
  for (const { line, column, problem } of problems) {
    expect(problem).not.toBe('')
    expect(line).toBeGreaterThanOrEqual(1)
    expect(line).toBeLessThanOrEqual(lines.length)
    expect(column).toBeGreaterThanOrEqual(1)
    expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1)
  }
  expect(problems.length).toBeLessThanOrEqual(7 * 51 + lines.length + 10)
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
  if (problems.length === 0) expect(charts.length).toBeGreaterThan(0)
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

/** Pieces of the notation in any order. */
const soup = fc
  .array(
    fc.oneof(
      fc.constantFrom(...'12345678bxhf$@?!-^<>vVpqszwABCDE,/`*|[]:#(){}. \n&='),
      fc.constantFrom(
        '(120)',
        '{8}',
        '{#0.1}',
        '[4:1]',
        '[#1]',
        '[1##2]',
        '||',
        '<HS*2>',
        ',,',
        '1-5[4:1]',
        '999999999',
      ),
    ),
    { maxLength: 200 },
  )
  .map((pieces) => pieces.join(''))

describe('the parser', () => {
  it('answers any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), mustAnswer), { numRuns: 200 })
  })

  it('answers any mixture of the notation', () => {
    fc.assert(
      fc.property(soup, (body) => mustAnswer(`&title=T\n&inote_5=(120)${body}`)),
      { numRuns: 1500 },
    )
    fc.assert(
      fc.property(soup, (text) => mustAnswer(`&title=T\n${text}`)),
      { numRuns: 500 },
    )
  })

  it('answers a chart of which a part is cut out, doubled or replaced', () => {
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
      { numRuns: 1500 },
    )
  })

  it('answers what is long', () => {
    const size = 150_000
    for (const piece of [
      '1',
      ',',
      '(',
      '[',
      '{',
      '|',
      '||',
      '&',
      '\n',
      ' ',
      '`',
      '/',
      '*',
      '-1',
      '1/',
      '1`',
      '<',
      '\r',
      '(1)',
      '{7}',
      '1-4',
    ]) {
      mustAnswer(`&title=T\n&inote_5=(120)1${piece.repeat(size / piece.length)}`)
      mustAnswer(`&title=T\n${piece.repeat(size / piece.length)}`)
    }
  })

  it('answers thousands of lengths that have no common one', () => {
    const body = Array.from({ length: 15_000 }, (_, i) => `{${1000 + i}}1,`).join('')
    const { charts } = parseMaidata(`&title=T\n&inote_5=(120)${body}E`)
    expect(charts[0]?.notes).toHaveLength(15_000)
  })
})
