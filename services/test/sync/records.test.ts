import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { BUNDLED_CATALOGUE } from '../../music/catalogue.ts'
import { incremental, QQ, record, startSync } from './harness.ts'

it('what a record does not say is filled from the catalogue', async () => {
  const { sync, stored } = await startSync()
  await sync(incremental([{ song_id: 11466, level_index: 3, achievements: 99.75 }]))
  expect(Object.values(await stored())).toEqual([
    {
      song_id: 11466,
      title: '群青シグナル',
      type: 'DX',
      level_index: 3,
      level: '13+',
      level_label: 'Master',
      ds: 13.9,
      achievements: 99.75,
      ra: 292,
      rate: 'ssp',
      dxScore: 0,
      fc: '',
      fs: '',
    },
  ])
})

it.each([
  ['null', { title: null, type: null, level: null, level_label: null, ds: null, ra: null, rate: null, dxScore: null }],
  ['empty', { title: '', level: '', level_label: '', rate: '', fc: '', fs: '' }],
])('what a record does not say may also be %s', async (_name, more) => {
  const { sync, stored } = await startSync()
  await sync(incremental([{ song_id: 837, level_index: 1, achievements: 101, ...more }]))
  const filled = { title: 'Altale', type: 'SD', level: '8', level_label: 'Advanced', ds: 8.5, ra: 191, rate: 'sssp' }
  expect(await stored()).toMatchObject({ '837/1': filled })
})

it('what a record does not say is left empty for a chart that the catalogue does not know', async () => {
  const { sync, stored } = await startSync()
  await sync(incremental([record(2001, { achievements: 97 })]))
  const empty = { title: '', type: 'SD', level: '', level_label: 'Master', ds: 0, ra: 0, rate: 's' }
  expect(await stored()).toMatchObject({ '2001/3': empty })
})

it.each([
  ['from ds when given', { ds: 13.9, ra: 1 }, 300],
  ['else as sent', { ra: 77 }, 77],
])('what a record does not say has the rating of an unknown chart %s', async (_name, more, ra) => {
  const { sync, stored } = await startSync()
  await sync(incremental([record(2001, { achievements: 100, ...more })]))
  expect(await stored()).toMatchObject({ '2001/3': { ra } })
})

it('what a record does not say is as sent if it is sent, although the catalogue knows better', async () => {
  const { sync, stored } = await startSync()
  const said = { title: 'Altale!', level: '8+', level_label: 'ADV', ds: 8.7, rate: 'sss' }
  await sync(incremental([record(837, { level_index: 1, dxScore: 1, ...said })]))
  expect(await stored()).toMatchObject({ '837/1': said })
})

it('what a record does not say of an incremental sync stays as it was known', async () => {
  const { sync, stored } = await startSync()
  const said = { title: 'A song', level: '12', ds: 12.3 }
  await sync(incremental([record(2001, said)]))
  await sync(incremental([record(2001, { achievements: 100 })]))
  expect(await stored()).toMatchObject({ '2001/3': { ...said, achievements: 100 } })
})

it('what a record does not say of an incremental sync never lowers the rating of a chart that nobody else knows', async () => {
  const { sync, stored } = await startSync()
  for (const [ra, kept] of [
    [300, 300],
    [290, 300],
    [310, 310],
  ] as const) {
    await sync(incremental([record(2001, { ra })]))
    expect(await stored(), String(ra)).toMatchObject({ '2001/3': { ra: kept } })
  }
})

describe('the rating of a score whose chart is in the catalogue', () => {
  /** The bundled catalogue by the rules since CiRCLE. */
  function circle(): string {
    const file = join(tempFolder(), 'catalogue.json')
    const bundled = JSON.parse(readFileSync(BUNDLED_CATALOGUE, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...bundled, rating: { allPerfect: 1 } }))
    return file
  }
  const MASTER = { song_id: 11466, level_index: 3, achievements: 101 }
  const shown = async ({ player }: Awaited<ReturnType<typeof startSync>>) => {
    const { rating, records } = (await player(QQ)).json
    return { rating, ra: records.map((each: { ra: number }) => each.ra) }
  }

  it("the rating of a score in the catalogue is what the player's rating counts, whatever a client sends", async () => {
    const running = await startSync()
    const sent = incremental([{ ...MASTER, ra: 313, ds: 14.5, fc: 'ap' }])
    await running.sync(sent)
    expect(await shown(running)).toEqual({ rating: 312, ra: [312] })
    expect((await running.sync(sent)).json).toMatchObject({ updated: 0, skipped: 1 })
  })

  it('the rating of a score in the catalogue has 1 more for an AP where the catalogue says so', async () => {
    const running = await startSync({ catalogue: circle() })
    await running.sync(incremental([{ ...MASTER, ra: 312, fc: 'ap' }]))
    expect(await shown(running)).toEqual({ rating: 313, ra: [313] })
  })

  it('the rating of a score in the catalogue follows from what two scores together have earned', async () => {
    const running = await startSync({ catalogue: circle() })
    await running.sync(incremental([{ ...MASTER, fc: 'fc' }]))
    const worse = incremental([{ ...MASTER, achievements: 100, fc: 'app' }])
    await running.sync(worse)
    expect(await shown(running)).toEqual({ rating: 313, ra: [313] })
    expect((await running.sync(worse)).json).toMatchObject({ updated: 0, skipped: 1 })
  })

  it('the rating of a score in the catalogue follows another catalogue from the next sync on', async () => {
    const database = join(tempFolder(), 'sync.db')
    const before = await startSync({ database })
    await before.sync(incremental([{ ...MASTER, fc: 'ap' }]))
    await before.close()
    const running = await startSync({ database, catalogue: circle() })
    expect(await shown(running)).toEqual({ rating: 312, ra: [312] })
    await running.sync(incremental([]))
    expect(await shown(running)).toEqual({ rating: 313, ra: [313] })
  })
})

describe('lamps', () => {
  it.each([
    [
      { fc: 'fcp', fs: 'fdx' },
      { fc: 'fcp', fs: 'fsd' },
    ],
    [
      { fc: 'app', fs: 'fdxp' },
      { fc: 'app', fs: 'fsdp' },
    ],
    [
      { fc: 'none', fs: 'sync' },
      { fc: '', fs: 'sync' },
    ],
    [
      { fc: null, fs: null },
      { fc: '', fs: '' },
    ],
  ])('%j are stored as %j', async (sent, kept) => {
    const { sync, stored } = await startSync()
    await sync(incremental([record(2001, sent)]))
    expect(await stored()).toMatchObject({ '2001/3': kept })
  })

  it('lamps are ranked by strength and not by number: sync is the weakest', async () => {
    const { sync, stored } = await startSync()
    for (const [sent, kept] of [
      ['sync', 'sync'],
      ['', 'sync'],
      ['fs', 'fs'],
      ['sync', 'fs'],
      ['fsdp', 'fsdp'],
      ['sync', 'fsdp'],
    ] as const) {
      await sync(incremental([record(2001, { fs: sent })]))
      expect(await stored(), sent).toMatchObject({ '2001/3': { fs: kept } })
    }
  })
})

it.each([
  [{ fc: 'AP' }, { fc: 'ap' }],
  [{ fc: 'FC+' }, { fc: 'fcp' }],
  [
    { fc: 'APP', fs: 'FSD+' },
    { fc: 'app', fs: 'fsdp' },
  ],
  [
    { fc: 'AP+', fs: 'SYNC PLAY' },
    { fc: 'app', fs: 'sync' },
  ],
  [{ fs: 'FDX+' }, { fs: 'fsdp' }],
  [{ rate: 'SSS+' }, { rate: 'sssp' }],
  [{ rate: 'EX' }, { rate: 'ssp' }],
])('words of other platforms are stored by their meaning: %j as %j', async (sent, kept) => {
  const { sync, stored } = await startSync()
  const { errors, warnings } = (await sync(incremental([record(2001, sent)]))).json
  expect([errors, warnings]).toEqual([[], undefined])
  expect(await stored()).toMatchObject({ '2001/3': kept })
})

it.each([
  ['dx', 2001, '12001/3'],
  ['Dx', 12001, '12001/3'],
  ['standard', 2001, '2001/3'],
  ['STD', 2001, '2001/3'],
  ['sd', 2001, '2001/3'],
  ['utage', 110205, '110205/1'],
  ['宴会場', 110205, '110205/1'],
])('words of other platforms name the chart of type %s and song %i: %s', async (type, song_id, key) => {
  const { sync, stored } = await startSync()
  const level_index = song_id > 100_000 ? 1 : 3
  expect((await sync(incremental([record(song_id, { type, level_index })]))).json.errors).toEqual([])
  expect(Object.keys(await stored())).toEqual([key])
})

it.each([
  ['fc', 'fsd'],
  ['fs', '__proto__'],
])('words of other platforms that nobody knows are reported and lower nothing: in %s', async (name, word) => {
  const { sync, stored } = await startSync()
  const unknown = { [name]: word }
  const first = (await sync(incremental([record(2001, unknown)]))).json
  const text = `records[0] (song_id 2001, level_index 3): ${name} is no lamp that is known, and counts as none`
  expect(first).toMatchObject({ imported: 1, skipped: 0, errors: [], warnings: [text] })
  const best = { fc: 'ap', fs: 'fsd', achievements: 100, dxScore: 1100 }
  await sync(incremental([record(2001, best)]))
  await sync({ qq: QQ, full_snapshot: true, records: [record(2001, { ...unknown, achievements: 100.5 })] })
  expect(await stored()).toMatchObject({ '2001/3': { ...best, achievements: 100.5 } })
})

it.each([
  [0, 0],
  [101, 101],
  [99.12345, 99.1235],
  [100.49995, 100.5],
  [1e-7, 0],
])('achievements of %d are stored as %d', async (sent, kept) => {
  const { sync, stored } = await startSync()
  await sync(incremental([record(2001, { achievements: sent })]))
  expect(await stored()).toMatchObject({ '2001/3': { achievements: kept } })
})

it('achievements go up to 202 for a buddy utage chart, whose rating is none', async () => {
  const { sync, stored } = await startSync()
  const utage = (song_id: number, level_index = 0) => record(song_id, { level_index, achievements: 202, ra: 9, ds: 13 })
  const sd = { ...utage(123456), type: 'SD' }
  expect((await sync(incremental([utage(110205), utage(110205, 1), sd]))).json.errors).toEqual([])
  expect(await stored()).toMatchObject({
    '110205/0': { type: 'DX', level_label: 'Utage', achievements: 202, ra: 0, rate: 'sssp' },
    '110205/1': {},
    '123456/0': {},
  })
})

it.each([
  ['achievements above 101', record(2001, { achievements: 101.0001 }), 'achievements is not within 0 to 101'],
  ['achievements in ten-thousandths', record(2001, { achievements: 1005000 }), 'achievements is not within 0 to 101'],
  ['achievements below 0', record(2001, { achievements: -0.1 }), 'achievements is not within 0 to 101'],
  ['an utage chart for one with 202', record(100101, { level_index: 0, achievements: 202 }), '0 to 101'],
  ['more than 202', record(110205, { level_index: 0, achievements: 202.1 }), 'achievements is not within 0 to 202'],
  ['a DX score above the chart', record(11466, { dxScore: 2935 }), 'dxScore is not within 0 to 2934'],
  ['a DX score below 0', record(2001, { dxScore: -1 }), 'dxScore is not within 0 to 99999'],
  ['a DX score of no chart', record(2001, { dxScore: 100_000 }), 'dxScore is not within 0 to 99999'],
  ['a level that is none', record(2001, { level_index: 5 }), 'level_index is not within 0 to 4'],
  ['a level below 0', record(2001, { level_index: -1 }), 'level_index is not within 0 to 4'],
  ['a third utage chart', record(110205, { level_index: 2 }), 'level_index is not within 0 to 1'],
  ['song 0', record(0), 'song_id names no song'],
  ['song 10000', record(10_000), 'song_id names no song'],
  ['a song between DX and utage', record(20_000), 'song_id names no song'],
  ['song 100000', record(100_000), 'song_id names no song'],
  ['song 1000000', record(1_000_000), 'song_id names no song'],
  ['song -1, called DX', record(-1, { type: 'DX' }), 'song_id names no song'],
  ['SD of a DX song', record(11466, { type: 'SD' }), 'type is SD'],
  ['another type', record(2001, { type: 'deluxe edition' }), 'type is none of SD, standard, DX, utage'],
  ['utage of a song', record(2001, { type: 'utage' }), 'type is utage'],
  ['a constant above 20', record(2001, { ds: 20.1 }), 'ds is not within 0 to 20'],
  ['a rating above 999', record(2001, { ra: 1000 }), 'ra is not within 0 to 999'],
  ['a long title', record(2001, { title: 'x'.repeat(257) }), 'is longer than 256 characters'],
])('a record that cannot be is reported and skipped, and the others are stored: %s', async (_name, bad, text) => {
  const { sync } = await startSync()
  const { status, json } = await sync(incremental([record(3000), bad, record(3001)]))
  expect([status, json.imported, json.skipped, json.stored_records]).toEqual([200, 2, 1, 2])
  const { song_id, level_index } = bad
  expect(json.errors).toEqual([expect.stringContaining(text)])
  expect(json.errors[0]).toMatch(new RegExp(`^records\\[1\\] \\(song_id ${song_id}, level_index ${level_index}\\): `))
})

it('a record that cannot be leaves nothing stored when all of them are so', async () => {
  const { sync, player } = await startSync()
  const response = await sync(incremental([record(0)], { nickname: 'N' }))
  expect(response.json).toMatchObject({ status: 'ok', stored_records: 0, skipped: 1 })
  expect((await player(QQ)).json).toMatchObject({ nickname: 'N', records: [] })
})
