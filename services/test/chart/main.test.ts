import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { main } from '../../chart/main.ts'
import { UsageError } from '../../common/command.ts'
import { commandOf } from '../command.ts'
import { ADMIN, chartsFolder, SAMPLE } from './harness.ts'

const CATALOGUE = fileURLToPath(new URL('../../../config/score/catalogue.json', import.meta.url))

const { start, run } = commandOf('chart', 'CHART_ADMIN_SECRET', ADMIN)

it('the command line of chart serves the charts of a folder, reports broken ones, and stops on SIGTERM with exit code 0', async () => {
  const database = join(tempFolder(), 'chart.db')
  const charts = chartsFolder({ 11466: SAMPLE, 417: '&title=B\n&inote_5=9,E\n' })
  const origin = 'http://127.0.0.1:8080'
  const flags = ['--listen', '127.0.0.1:0', '--database', database, '--charts', charts, '--allow-origin', origin]
  const child = start(['serve', ...flags])
  const told = once(child.stderr, 'data')
  const [line] = await once(child.stdout, 'data')
  expect(String(line)).toMatch(/^chart preview on http:/)
  expect(String(await told)).toContain('/417/maidata.txt:2:10 a note before')
  const url = /http:\S+/.exec(String(line))?.[0]
  const admin = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' }
  const made = await fetch(`${url}/api/v1/api-keys`, { method: 'POST', headers: admin, body: '{"name":"x"}' })
  const { key } = (await made.json()) as { key: string }
  const list = await fetch(`${url}/api/v1/charts`, { headers: { authorization: `Bearer ${key}`, origin } })
  expect(list.headers.get('access-control-allow-origin')).toBe(origin)
  expect(await list.json()).toMatchObject({ total: 1, items: [{ chartKey: '1466:dx:5' }] })
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

it('the command line of chart checks a folder for charts that cannot be shown, for oddities, and for being there', async () => {
  const charts = chartsFolder({
    11466: SAMPLE,
    417: '&title=B\n&inote_4=(120)1,E\n&inote_5=(120)1,9,\n\n 1-2[4:1],E\n&inote_6=1,E\n',
  })
  const file = join(charts, '417', 'maidata.txt')
  const warnings = [
    `${file}:3:17 warning: expected a note (1 to 8, A1 to E8 or C) but found "9"`,
    `${file}:5:3 warning: a straight slide ends two buttons or more from its start, not 1-2`,
  ]
  const error = `${file}:6:10 a note before the first tempo; a chart begins with one, such as (120)`
  expect(await run(['check', '--charts', charts])).toEqual({
    code: 1,
    out: [error, ...warnings, ''].join('\n'),
    err: '',
  })
  writeFileSync(file, readFileSync(file, 'utf8').replace('&inote_6=1', '&inote_6=(120)1'))
  expect(await run(['check', '--charts', charts])).toEqual({
    code: 0,
    out: [...warnings, '4 charts, 2 warnings', ''].join('\n'),
    err: '',
  })
  const sound = chartsFolder({ 11466: SAMPLE })
  expect(await run(['check', '--charts', sound])).toEqual({ code: 0, out: '1 charts, no problem\n', err: '' })
})

it('the command line of chart counts the bundled charts into the bundled catalogue, byte for byte', async () => {
  const { code, out } = await run(['catalogue', CATALOGUE])
  expect(code).toBe(0)
  expect(out).toBe(readFileSync(CATALOGUE, 'utf8'))
})

it('the command line of chart corrects a catalogue that says otherwise, and names a chart that is missing', async () => {
  const charts = chartsFolder({ 11466: SAMPLE })
  const file = join(tempFolder(), 'catalogue.json')
  const entry = (level: number) => `{
  "rating": {
    "allPerfect": 0
  },
  "songs": [
    {
      "musicId": 11466,
      "title": "T",
      "artist": "",
      "genre": "",
      "bpm": 120.50,
      "version": "1",
      "type": "dx",
      "isNew": true,
      "charts": [
        {
          "level": ${level},
          "levelLabel": "12+",
          "ds": 12.0,
          "designer": "",
          "notes": {
            "tap": 1,
            "hold": 0,
            "slide": 0,
            "touch": 0,
            "break": 0,
            "total": 1
          },
          "maxDxScore": 3
        }
      ]
    }
  ]
}
`
  writeFileSync(file, entry(3))
  const { out } = await run(['catalogue', '--charts', charts, file])
  const counted = { tap: 6, hold: 2, slide: 1, touch: 1, break: 1, total: 11 }
  expect(JSON.parse(out).songs[0].charts[0]).toMatchObject({ notes: counted, maxDxScore: 33 })
  expect(out).toContain('"bpm": 120.50,')
  expect(out).toContain('"ds": 12.0,')
  writeFileSync(file, entry(2))
  expect(await run(['catalogue', '--charts', charts, file])).toEqual({
    code: 1,
    out: '',
    err: 'there is no sound chart of musicId 11466, level 2\n',
  })
})

it('the command line of chart explains itself where it is called wrongly', async () => {
  expect(await run([])).toMatchObject({ code: 2, err: expect.stringContaining('serve --database FILE') })
})

it.each([
  [[]],
  [['serve']],
  [['fly', '--database', 'x.db']],
  [['serve', 'x', '--database', 'x.db']],
  [['serve', '--database', 'x.db', '--listen', '9002']],
  [['serve', '--database', 'x.db', '--allow-origin', 'http://127.0.0.1:8080/']],
  [['serve', '--database', 'x.db', '--wrong']],
  [['check', 'x']],
  [['catalogue']],
  [['catalogue', 'a.json', 'b.json']],
])('the command line of chart does not understand %j', async (args) => {
  await expect(main(args)).rejects.toThrow(UsageError)
})

it('the command line of chart does not serve without a secret, and names what it cannot read', async () => {
  const database = join(tempFolder(), 'chart.db')
  expect(await run(['serve', '--database', database], '')).toMatchObject({ code: 2 })
  for (const args of [
    ['serve', '--database', database, '--charts', '/no/such/folder'],
    ['check', '--charts', '/no/such/folder'],
    ['catalogue', '/no/such/folder'],
  ]) {
    expect(await run(args)).toMatchObject({ code: 1, err: expect.stringContaining('/no/such/folder') })
  }
})
