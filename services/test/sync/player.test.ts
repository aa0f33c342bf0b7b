import { expect, it } from 'vitest'
import { expectResponse } from '../responses.ts'
import { DAY, HOUR, incremental, NOON, QQ, record, startSync } from './harness.ts'

const MASTER = { song_id: 11466, level_index: 3, achievements: 100.5 }
const ADVANCED = { song_id: 837, level_index: 1, achievements: 101 }

it('a player is known by what was said last, and keeps what a later sync does not say', async () => {
  const { sync, player, clock } = await startSync()
  await sync(incremental([ADVANCED], { nickname: 'One', source: 'sega', play_count: 5 }))
  clock.now += HOUR
  await sync(incremental([MASTER], { nickname: null }))
  const known = { nickname: 'One', play_count: 5, updated_at: '2026-08-25T11:00:00.000Z' }
  expect((await player(QQ, '/summary')).json).toMatchObject({
    ...known,
    rating: 503,
    old_rating: 191,
    new_rating: 312,
  })
  await sync(incremental([], { nickname: '二', play_count: 6 }))
  expect((await player(QQ, '/summary')).json).toMatchObject({ nickname: '二', play_count: 6 })
})

it('a player has the rating that the request says, or the computed one', async () => {
  const { sync, player } = await startSync()
  await sync(incremental([MASTER, ADVANCED, record(2001, { ds: 15 })], { rating: 15000, old_rating: 10000 }))
  expect((await player(QQ)).json).toMatchObject({ rating: 15000, old_rating: 10000, new_rating: 312 })
  await sync(incremental([]))
  // The chart that the catalogue does not know counts what its record shows.
  const { records, ...rating } = (await player(QQ)).json
  const unknown = records.find((each: { song_id: number }) => each.song_id === 2001).ra
  expect(unknown).toBeGreaterThan(300)
  expect(rating).toMatchObject({ rating: 503 + unknown, old_rating: 191 + unknown, new_rating: 312 })
})

it('a player has a rating also if the catalogue knows none of the charts: the best 35 of them', async () => {
  const { sync, player } = await startSync()
  const many = Array.from({ length: 50 }, (_, index) => record(2001 + index, { ra: 201 + index }))
  await sync(incremental([...many, record(123456, { level_index: 0, ra: 300 })]))
  const total = Array.from({ length: 35 }, (_, index) => 216 + index).reduce((sum, ra) => sum + ra, 0)
  expect((await player(QQ, '/summary')).json).toMatchObject({ rating: total, old_rating: total, new_rating: 0 })
})

it('a player is also called player_id', async () => {
  const { sync, player } = await startSync()
  await sync({ player_id: QQ, records: [ADVANCED] })
  await sync({ qq: QQ, player_id: QQ, records: [MASTER] })
  expect((await player(QQ)).json.records).toHaveLength(2)
  expect((await sync({ qq: QQ, player_id: QQ + 1, records: [] })).json.detail).toEqual([
    { loc: ['body', 'player_id'], msg: 'Value error, qq and player_id differ', type: 'value_error' },
  ])
})

it('a player has records in the order of songs and levels', async () => {
  const { sync, stored } = await startSync()
  const levels = [0, 1, 2, 3, 4].map((level_index) => record(999, { level_index }))
  await sync(incremental([record(100101, { level_index: 0 }), record(10001), ...levels.reverse(), record(1000)]))
  const keys = ['999/0', '999/1', '999/2', '999/3', '999/4', '1000/3', '10001/3', '100101/0']
  expect(Object.keys(await stored())).toEqual(keys)
})

it.each(['', '/summary', '/trend'])('a player that is unknown is not found at %s', async (rest) => {
  const { player } = await startSync()
  expectResponse(await player(QQ, rest), 404, { detail: 'player not found' })
})

it.each([
  ['abc', 422],
  ['1.5', 422],
  ['1e6', 422],
  ['0x10000', 422],
  ['%20123456', 422],
  ['9'.repeat(21), 422],
  ['-5', 400],
  ['9999', 400],
  ['1000000000000', 400],
  ['9'.repeat(20), 400],
])('a player is not called %s', async (name, status) => {
  const { player } = await startSync()
  const response = await player(name)
  expect(response.status).toBe(status)
  if (status === 422) {
    const msg = 'Input should be a valid integer, unable to parse string as an integer'
    expect(response.json).toEqual({ detail: [{ loc: ['path', 'qq'], msg, type: 'int_parsing' }] })
  }
  if (status === 400) expect(response.json).toEqual({ detail: 'qq is not within 10000 to 999999999999' })
})

it('a player is not found by a name of many letters', async () => {
  const { player } = await startSync()
  expect(await player('9'.repeat(5000))).toMatchObject({ status: 422, json: { detail: [{ loc: ['path', 'qq'] }] } })
})

it('the trend has the last state of each day, which begins at midnight of Shanghai', async () => {
  const { sync, player, clock } = await startSync()
  const at = async (time: string, rating: number) => {
    clock.now = Date.parse(time)
    await sync(incremental([record(2001 + rating)], { rating, old_rating: 1, new_rating: 2 }))
  }
  await at('2026-08-23T15:59:59.999Z', 10)
  await at('2026-08-23T16:00:00.000Z', 30)
  await at('2026-08-24T15:59:59.999Z', 25)
  await at('2026-08-24T16:00:00.000Z', 27)
  const { points, summary } = (await player(QQ, '/trend')).json
  const parts = { old_rating: 1, new_rating: 2 }
  expect(points).toEqual([
    { date: '2026-08-23', rating: 10, delta: 0, ...parts, record_count: 1 },
    { date: '2026-08-24', rating: 25, delta: 15, ...parts, record_count: 3 },
    { date: '2026-08-25', rating: 27, delta: 2, ...parts, record_count: 4 },
  ])
  expect(summary).toEqual({ start_rating: 10, end_rating: 27, rating_delta: 17, days_with_data: 3 })
})

it('the trend goes back so many days, today included', async () => {
  const { sync, player, clock } = await startSync()
  for (const [back, rating] of [
    [364, 1],
    [30, 2],
    [29, 3],
    [0, 4],
  ] as const) {
    clock.now = NOON - back * DAY
    await sync(incremental([record()], { rating }))
  }
  const ratings = async (rest: string) => {
    const { days, points, summary } = (await player(QQ, rest)).json
    return [days, points.map((point: { rating: number }) => point.rating), summary.rating_delta]
  }
  expect(await ratings('/trend')).toEqual([30, [3, 4], 1])
  expect(await ratings('/trend?days=31')).toEqual([31, [2, 3, 4], 2])
  expect(await ratings('/trend?days=1')).toEqual([1, [4], 0])
  expect(await ratings('/trend?days=365')).toEqual([365, [1, 2, 3, 4], 3])
})

it('the trend is flat for days on which nothing was synced', async () => {
  const { sync, player, clock } = await startSync()
  await sync(incremental([record()], { rating: 77 }))
  clock.now += 40 * DAY
  const { points, summary } = (await player(QQ, '/trend')).json
  expect(points).toEqual([])
  expect(summary).toEqual({ start_rating: 77, end_rating: 77, rating_delta: 0, days_with_data: 0 })
})

it.each([
  ['days=0', 'greater_than_equal'],
  ['days=-1', 'greater_than_equal'],
  ['days=366', 'less_than_equal'],
  ['days=99999999999999999999', 'less_than_equal'],
  ['days=1.5', 'int_parsing'],
  ['days=NaN', 'int_parsing'],
  ['days=', 'int_parsing'],
  ['days=1&days=2', 'int_parsing'],
])('the trend refuses ?%s', async (query, type) => {
  const { player } = await startSync()
  expectResponse(await player(QQ, `/trend?${query}`), 422, {
    detail: [{ loc: ['query', 'days'], msg: expect.stringMatching(/^Input should be/), type }],
  })
})
