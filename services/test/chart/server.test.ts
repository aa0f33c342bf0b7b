import { describe, expect, it } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { createChartService } from '../../chart/service.ts'
import { saidTo } from '../responses.ts'
import { chartsFolder, SAMPLE, startCharts } from './harness.ts'

/** A song with the same short chart at several difficulties. */
function song(title: string, difficulties: number[], more = ''): string {
  return `&title=${title}\n${more}${difficulties.map((x) => `&lv_${x}=${x}\n&inote_${x}=(120)1,E\n`).join('')}`
}

const SONGS = {
  417: song('Link', [2, 3, 4, 5], '&artist=Ｍｉｒａ Vale\n'),
  418: song('Link', [5], '&artist=Paper Comets\n&des_5=Somebody\n'),
  10205: song('Álpha <b>', [5, 6]),
  100101: song('Utage', [7]),
}

const keysOf = (json: { items: { chartKey: string }[] }) => json.items.map(({ chartKey }) => chartKey)

it('the list has the newest songs first, each with its easiest chart first', async () => {
  const { ask } = await startCharts({ songs: SONGS })
  const { json } = await ask('/api/v1/charts')
  expect(keysOf(json)).toEqual([
    '100101:utage:7',
    '205:dx:5',
    '205:dx:6',
    '418:standard:5',
    '417:standard:2',
    '417:standard:3',
    '417:standard:4',
    '417:standard:5',
  ])
  expect(json.items.map(({ level }: { level: number }) => level)).toEqual([10, 3, 4, 3, 0, 1, 2, 3])
  expect(json.items[0].levelLabel).toBe('UTAGE 7')
})

it.each([
  ['kind=dx', ['205:dx:5', '205:dx:6']],
  ['kind=utage', ['100101:utage:7']],
  ['difficulty=5', ['205:dx:5', '418:standard:5', '417:standard:5']],
  ['kind=standard&difficulty=4', ['417:standard:4']],
  ['q=LINK&difficulty=5', ['418:standard:5', '417:standard:5']],
  ['q=mira&difficulty=5', ['417:standard:5']],
  ['q=%EF%BC%AD%EF%BC%A9%EF%BC%B2%EF%BC%A1&difficulty=5', ['417:standard:5']],
  ['q=somebody', ['418:standard:5']],
  ['q=nothing', []],
  ['q=%25', []],
  ['sort=title&difficulty=5', ['205:dx:5', '417:standard:5', '418:standard:5']],
  ['limit=3', ['100101:utage:7', '205:dx:5', '205:dx:6']],
  ['limit=3&page=3', ['417:standard:4', '417:standard:5']],
  ['page=99', []],
])('the list has the charts that the query asks for: ?%s', async (query, keys) => {
  const { ask } = await startCharts({ songs: SONGS })
  expect(keysOf((await ask(`/api/v1/charts?${query}`)).json)).toEqual(keys)
})

it('the list says how many there are in all', async () => {
  const { ask } = await startCharts({ songs: SONGS })
  expect((await ask('/api/v1/charts?limit=1&difficulty=5')).json).toMatchObject({ total: 3, page: 1, limit: 1 })
})

it('the notes are those from one time to before another', async () => {
  const { ask } = await startCharts()
  const times = async (query: string) =>
    (await ask(`/api/v1/charts/1466:dx:5/notes?${query}`)).json.notes.map(({ time }: { time: number }) => time)
  expect(await times('from=1&to=2')).toEqual([1, 1, 1.5])
  expect(await times('from=3')).toEqual([3, 3.25])
  expect(await times('to=0.5')).toEqual([0])
  expect(await times('from=2&to=2')).toEqual([])
})

it('a time that the notes have can be asked for: as the moment of a frame, and as the first and the end of a part', async () => {
  const odd = '&title=T\n&inote_5=(137){12}1,2,3,(191.7){7}4,5,6,{#0.0000001}7,8,1,{4}2,E'
  const { ask } = await startCharts({ songs: { 11466: odd } })
  const chart = '/api/v1/charts/1466:dx:5'
  const all = (await ask(`${chart}/notes`)).json.notes as { time: number }[]
  expect(all.length).toBe(10)
  for (const [index, { time }] of all.entries()) {
    const text = encodeURIComponent(JSON.stringify(time))
    expect((await ask(`${chart}/preview.svg?t=${text}`)).status, text).toBe(200)
    expect((await ask(`${chart}/notes?from=${text}`)).json.notes).toEqual(all.slice(index))
    expect((await ask(`${chart}/notes?to=${text}`)).json.notes).toEqual(all.slice(0, index))
  }
})

it.each(['0', '.5', '5.', '.5e1', '1e1', '1E-2', '1e%2B1', '0.1000000000000000055511151231257827', '36000'])(
  'a time may be %s',
  async (text) => {
    const { ask } = await startCharts()
    expect((await ask(`/api/v1/charts/1466:dx:5/preview.svg?t=${text}`)).status).toBe(200)
  },
)

it('the maidata is not sent again to a client that has it', async () => {
  const { ask } = await startCharts()
  const path = '/api/v1/charts/1466:dx:5/maidata'
  const etag = String((await ask(path)).headers.get('etag'))
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const response = await ask(path, { headers: { 'if-none-match': known } })
    expect([response.status, response.text, response.headers.get('etag')]).toEqual([304, '', etag])
  }
  for (const other of ['"other"', etag.slice(1, -1)]) {
    expect((await ask(path, { headers: { 'if-none-match': other } })).status).toBe(200)
  }
})

it('the maidata has its head without its body', async () => {
  const { ask } = await startCharts()
  const { status, text, headers } = await ask('/api/v1/charts/1466:dx:5/maidata', { method: 'HEAD' })
  expect([status, text, headers.get('content-length')]).toEqual([200, '', String(SAMPLE.length)])
})

describe('a request that is not understood', () => {
  const CHART = '/api/v1/charts/1466:dx:5'
  it.each([
    ['/api/v1/charts?page=0', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?page=1.5', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?page=abc', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?page=', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?page=1&page=2', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?page=0x10', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?page=1e9', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?page=01', 'page: expected a whole number from 1 to 1000000'],
    ['/api/v1/charts?limit=51', 'limit'],
    ['/api/v1/charts?limit=-1', 'limit'],
    ['/api/v1/charts?difficulty=8', 'difficulty'],
    ['/api/v1/charts?kind=DX', 'kind: expected standard, dx, utage'],
    ['/api/v1/charts?sort=oldest', 'sort: expected newest or title'],
    [`/api/v1/charts?q=${'x'.repeat(101)}`, 'q: expected at most 100 characters'],
    ['/api/v1/charts?q=a&q=b', 'q: expected one text'],
    ['/api/v1/charts?__proto__=1', '__proto__'],
    ['/api/v1/charts?wrong=1&page=0', 'wrong: unknown; leave it out'],
    [`${CHART}?t=1`, 't'],
    [`${CHART}/notes?from=NaN`, 'from: expected a number such as 12.5'],
    [`${CHART}/notes?from=2&to=1`, 'from is after to'],
    [`${CHART}/notes?to=-1`, 'to'],
    [`${CHART}/maidata?x=1`, 'x'],
    [`${CHART}/preview.svg?t=NaN`, 't: expected a number such as 12.5'],
    [`${CHART}/preview.svg?t=Infinity`, 't: expected a number such as 12.5'],
    [`${CHART}/preview.svg?t=1e308`, 't: expected seconds from 0 to 36000'],
    [`${CHART}/preview.svg?t=1e999`, 't: expected seconds from 0 to 36000'],
    [`${CHART}/preview.svg?t=.`, 't: expected a number such as 12.5'],
    [`${CHART}/preview.svg?t=1&t=2`, 't: expected a number such as 12.5'],
    [`${CHART}/preview.svg?t=99999999999999`, 't'],
    [`${CHART}/preview.svg?t=-0.1`, 't: expected seconds from 0 to 36000'],
    [`${CHART}/preview.svg?w=119`, 'w: '],
    [`${CHART}/preview.svg?w=1201`, 'w: '],
    [`${CHART}/preview.svg?w=300.5`, 'w: '],
    [`${CHART}/preview.svg?t=%3Cscript%3E`, 't'],
  ])('a request that is not understood gets an error that says why: %s', async (path, told) => {
    const { ask } = await startCharts()
    const { status, json } = await ask(path)
    expect([status, json]).toEqual([400, { message: expect.stringContaining(told) }])
  })

  it.each([
    '/api/v1/charts/1466:dx:4',
    '/api/v1/charts/11466:dx:5',
    '/api/v1/charts/1466:DX:5',
    '/api/v1/charts/..%2F..%2F..%2Fetc%2Fpasswd',
    '/api/v1/charts/..%5C..%5Cmaidata.txt/maidata',
    '/api/v1/charts/%00/maidata',
    '/api/v1/charts/__proto__',
    '/api/v1/charts/constructor/notes',
    `/api/v1/charts/${'x'.repeat(5000)}`,
    '/api/v1/charts/1466:dx:5/',
    '/api/v1/charts/1466:dx:5/preview.png',
    '/api/v1/nothing',
    '/',
  ])('a request that is not understood gets a 404 at %s', async (path) => {
    const { ask } = await startCharts()
    const { status, text } = await ask(path)
    expect([status, text]).toEqual([404, '{"message":"Resource not found"}'])
  })

  it('a request that is not understood gets the right methods for a wrong one', async () => {
    const { ask, admin } = await startCharts()
    const post = await ask('/api/v1/charts/1466:dx:5/notes', { method: 'PUT', body: {} })
    expect([post.status, post.text, post.headers.get('allow')]).toEqual([
      405,
      '{"message":"Method not allowed"}',
      'GET, HEAD',
    ])
    const put = await admin('/api/v1/api-keys', { method: 'PATCH', body: {} })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
  })

  it('a request that is not understood gets a message also if it is no HTTP or no URL, and the service lives on', async () => {
    const { url, ask } = await startCharts()
    expect(await saidTo(url, 'HELLO\r\n\r\n')).toContain('{"message":"not a valid HTTP request"}')
    for (const path of ['/api/v1/charts/%E0%A4%A', '/nothing/%E0%A4%A']) {
      const { status, text } = await ask(path)
      expect([status, text]).toEqual([400, '{"message":"malformed URL"}'])
    }
    expect((await ask('/api/v1/charts')).status).toBe(200)
  })
})

describe('pages of other origins', () => {
  const PAGE = 'http://127.0.0.1:8080'

  it('read the API where they are allowed, and what describes it anywhere', async () => {
    const { ask, url } = await startCharts({ allowedOrigins: [PAGE] })
    const asked = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' }
    const preflight = async (path: string, origin: string) =>
      (await fetch(url + path, { method: 'OPTIONS', headers: { origin, ...asked } })).headers
    const allowed = await preflight('/api/v1/charts', PAGE)
    expect(allowed.get('access-control-allow-origin')).toBe(PAGE)
    expect(allowed.get('access-control-allow-headers')).toContain('Authorization')
    expect((await preflight('/api/v1/charts', 'http://evil.example')).get('access-control-allow-origin')).toBeNull()
    const response = await ask('/api/v1/charts', { headers: { origin: PAGE } })
    expect([response.headers.get('access-control-allow-origin'), response.headers.get('vary')]).toEqual([
      PAGE,
      'Origin',
    ])
    expect(response.headers.has('access-control-allow-credentials')).toBe(false)
    const document = await ask('/openapi.json', { token: null, headers: { origin: 'http://any.example' } })
    expect([document.status, document.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
  })
})

describe('charts that are not sound', () => {
  it('charts that are not sound are reported with file, line and column, and the others serve', async () => {
    const broken = '&title=Broken\n&inote_4=(120)1,E\n&inote_5=\n{4}1,2,\n3,E\n&inote_6=(120),,E\n'
    const charts = chartsFolder({
      11466: SAMPLE,
      205: broken,
      300: new Uint8Array([0x26, 0xff]),
      stray: 'x',
      20001: SAMPLE,
    })
    const { ask, errors, service } = await startCharts({ charts })
    expect(keysOf((await ask('/api/v1/charts')).json)).toEqual(['1466:dx:5', '205:standard:4'])
    expect(
      service.errors.map(({ file, line, column, problem }) => [file.replace(charts, ''), line, column, problem]),
    ).toEqual([
      ['/20001', 1, 1, expect.stringContaining('named by its musicId')],
      ['/205/maidata.txt', 4, 4, expect.stringContaining('before the first tempo')],
      ['/205/maidata.txt', 6, 10, 'the chart has no note'],
      ['/300/maidata.txt', 1, 1, 'the file is not UTF-8'],
      ['/stray', 1, 1, expect.stringContaining('named by its musicId')],
    ])
    expect(errors).toContainEqual(
      expect.stringContaining(`a chart is left out: ${charts}/205/maidata.txt:4:4 a note before`),
    )
  })

  it('charts that are not sound are shown without what cannot be read of them, which is reported with the chart', async () => {
    const odd =
      '&title=Odd\n&inote_4=(120)1,E\n&inote_5=\n(120){4}C4f,Ch[4:1]f,17.,9,/8,\n| 0:08\n1-2[4:1],5,E  thanks, all\n'
    const charts = chartsFolder({ 205: odd })
    const { ask, service, warnings } = await startCharts({ charts })
    const { json } = await ask('/api/v1/charts/205:standard:5')
    expect([json.notes.total, json.maxDxScore]).toEqual([6, 18])
    expect(
      json.warnings.map(({ line, column, problem }: Record<string, string>) => `${line}:${column} ${problem}`),
    ).toEqual([
      '4:9 a C has no number but 1 or 2; C4 is read as C',
      '4:20 the f of a touch hold stands before its duration',
      '4:24 "." is no part of the notation',
      '4:26 expected a note (1 to 8, A1 to E8 or C) but found "9"',
      '4:28 expected a note (1 to 8, A1 to E8 or C) but found "/"',
      '5:1 a comment begins with ||; "| 0:08" is read as one',
      '6:2 a straight slide ends two buttons or more from its start, not 1-2',
      '6:15 expected nothing after the E that ends the chart; it is not read',
    ])
    expect((await ask('/api/v1/charts/205:standard:4')).json.warnings).toEqual([])
    expect((await ask('/api/v1/charts/205:standard:5/preview.svg?t=0')).status).toBe(200)
    expect(service.errors).toEqual([])
    expect(warnings[0]).toBe(`${charts}/205/maidata.txt:4:9 warning: a C has no number but 1 or 2; C4 is read as C`)
  })

  it('charts that are not sound are those of a file that is too large, and of a song that has the key of another', async () => {
    const charts = chartsFolder({ 417: `${song('A', [5])}${'|'.repeat(2 * 1024 * 1024)}`, 10000: SAMPLE })
    const { ask, service } = await startCharts({ charts })
    expect((await ask('/api/v1/charts')).json.total).toBe(0)
    expect(service.errors.map(({ problem }) => problem)).toEqual([
      expect.stringContaining('named by its musicId'),
      'the file is larger than 2097152 bytes',
    ])
  })

  it('charts that are not sound are those of another kind than their folder', async () => {
    const charts = chartsFolder({ 417: song('A', [5, 7]), 100101: song('B', [5, 7]) })
    const { ask, service } = await startCharts({ charts })
    expect(keysOf((await ask('/api/v1/charts')).json)).toEqual(['100101:utage:7', '417:standard:5', '417:standard:7'])
    expect(service.errors.map(({ problem }) => problem)).toEqual([
      'inote_5 is not for this song: utage songs (musicId above 100000) have inote_7 alone',
    ])
  })

  it('an ORIGINAL chart has no level of the game, and that of an utage song has its own', async () => {
    const { ask } = await startCharts({ songs: { 417: song('A', [7]), 100101: song('B', [7]) } })
    const shown = async (key: string) => (await ask(`/api/v1/charts/${key}`)).json
    expect(await shown('417:standard:7')).toMatchObject({ level: null, levelLabel: 'ORIGINAL 7' })
    expect(await shown('100101:utage:7')).toMatchObject({ level: 10, levelLabel: 'UTAGE 7' })
  })

  it('an EASY chart has no level of the game', async () => {
    const { ask } = await startCharts({ songs: { 417: song('A', [1]) } })
    expect((await ask('/api/v1/charts/417:standard:1')).json).toMatchObject({ level: null, levelLabel: 'EASY 1' })
  })
})

it('does not start without a secret or without its charts', async () => {
  const options = { database: `${tempFolder()}/chart.db`, charts: chartsFolder({}), adminSecret: 'x' }
  await expect(createChartService({ ...options, adminSecret: '' })).rejects.toThrow('administrator secret')
  await expect(createChartService({ ...options, charts: '/no/such/folder' })).rejects.toThrow('/no/such/folder')
})
