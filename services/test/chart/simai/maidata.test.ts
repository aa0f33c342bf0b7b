import { describe, expect, it } from 'vitest'
import { parseMaidata } from '../../../chart/simai/maidata.ts'

const BODY = '(120)1,E'

describe('a maidata file', () => {
  it('a maidata file has what is said of the song and of each of its charts', () => {
    const { title, artist, charts, errors, warnings } = parseMaidata(
      [
        '|| made by hand',
        '&title= Song = One ',
        '|| a remark',
        '&artist=Somebody',
        '&des=Everybody',
        '&des_6=Nobody',
        '&first=1.25',
        '&first_4=-0.5',
        '|| half a second early',
        '&lv_4=9',
        '&lv_6=13+',
        '&demo_seek=30',
        `&inote_4=${BODY}`,
        '&inote_5=',
        '&inote_6=',
        '',
        '(180){8}1,,',
        '2,E',
      ].join('\r\n'),
    )
    expect([title, artist, errors, warnings]).toEqual(['Song = One', 'Somebody', [], []])
    expect(charts.map(({ notes, ...rest }) => ({ ...rest, notes: notes.length }))).toEqual([
      { difficulty: 4, level: '9', designer: 'Everybody', first: -0.5, bpm: 120, duration: 0, notes: 1, warnings: [] },
      {
        difficulty: 6,
        level: '13+',
        designer: 'Nobody',
        first: 1.25,
        bpm: 180,
        duration: 1 / 3,
        notes: 2,
        warnings: [],
      },
    ])
  })

  it('a maidata file may begin with a byte order mark', () => {
    expect(parseMaidata(`\uFEFF&title=T\n&inote_5=${BODY}`)).toMatchObject({ title: 'T', errors: [], warnings: [] })
  })

  it.each([
    [`&inote_5=${BODY}`, '1:1 the song has no &title='],
    [`&artist=A\n&title= \n&inote_5=${BODY}`, '2:8 the song has no &title='],
    ['&title=T', '1:1 the file has no &inote_x='],
    ['', '1:1 the song has no &title='],
  ])('%j gives no chart, and says why', (text, problem) => {
    const { charts, errors } = parseMaidata(text)
    expect(errors.map((each) => `${each.line}:${each.column} ${each.problem}`)).toContain(problem)
    expect(charts).toEqual([])
  })

  it.each([
    [`hello\n&title=T\n&inote_5=${BODY}`, '1:1 expected &key=value'],
    [`&title=T\n\n  &oops\n&inote_5=${BODY}`, '3:3 expected &key=value'],
    [`&title=T\n&=x\n&inote_5=${BODY}`, '2:1 expected &key=value'],
    [`&title=U\n&title=T\n&inote_5=${BODY}`, '2:1 &title= is there twice; the last one counts'],
    [`&title=T\n&inote_5=(120)1,2,E\n&inote_5=${BODY}`, '3:1 &inote_5= is there twice; the last one counts'],
    [`&title=T\n&first= soon\n&inote_5=${BODY}`, '2:9 &first= is a number of seconds such as 1.234; read as 0'],
    [
      `&title=T\n&first=1\n|| a remark\n2\n&inote_5=${BODY}`,
      '2:8 &first= is a number of seconds such as 1.234; read as 0',
    ],
    [`&title=T\n&first_5=1e9\n&inote_5=${BODY}`, '2:10 &first= is a number of seconds such as 1.234; read as 0'],
  ])('%j is odd, and its chart is shown with a warning', (text, problem) => {
    const { title, charts, errors, warnings } = parseMaidata(text)
    expect([title, errors]).toEqual(['T', []])
    expect(warnings.map((each) => `${each.line}:${each.column} ${each.problem}`)).toEqual([problem])
    expect(charts).toMatchObject([{ difficulty: 5, first: 0, notes: [{ note: { position: '1' } }], warnings }])
  })

  it('a maidata file has the charts beside one that cannot be shown', () => {
    const { charts, errors } = parseMaidata(`&title=T\n&inote_4={8}1,E\n&inote_5=${BODY}\n`)
    expect(charts.map(({ difficulty }) => difficulty)).toEqual([5])
    expect(errors.map(({ line, column }) => [line, column])).toEqual([[2, 13]])
  })

  it('a maidata file has an & at the beginning of a line of a chart, which is odd', () => {
    const { charts, errors, warnings } = parseMaidata('&title=T\n&inote_5=(120)1,\n&2,\n &=3,E\n&des=D')
    expect(errors).toEqual([])
    expect(charts[0]?.notes.map(({ note }) => note.position)).toEqual(['1', '2', '3'])
    expect(warnings.map(({ line, column }) => `${line}:${column}`)).toEqual(['3:1', '4:2'])
    expect(charts[0]?.designer).toBe('D')
  })

  it.each(['\n', '\r\n', '\r'])('a maidata file counts lines that end with %j', (end) => {
    const { warnings } = parseMaidata(['&title=T', '&inote_5=', '(120)1,', ' 2,9,', 'E'].join(end))
    expect(warnings).toMatchObject([{ line: 4, column: 4 }])
  })
})
