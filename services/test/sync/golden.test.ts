import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { locked } from '../other-process.ts'
import { type ServiceResponse, wire } from '../responses.ts'
import { chunk, DAY, incremental, NOON, QQ, record, startSync } from './harness.ts'

/** The documented examples, byte for byte: members, their order and their values. */

function golden(name: string): string {
  return readFileSync(new URL(`../../sync/examples/${name}.json`, import.meta.url), 'utf8')
}

function expectGolden(response: ServiceResponse, status: number, name: string): void {
  expect([response.status, response.text]).toEqual([status, wire(golden(name))])
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
}

const ALTALE = {
  song_id: 837,
  title: 'Altale',
  type: 'SD',
  level_index: 1,
  level: '8',
  level_label: 'Advanced',
  ds: 8.5,
  achievements: 101.0,
  ra: 191,
  rate: 'sssp',
  dxScore: 744,
  fc: 'app',
  fs: 'fsd',
}

test('a snapshot in two chunks gets the documented responses, with the trend and the conflict that go with it', async () => {
  const { sync, player, clock } = await startSync()
  clock.now = NOON - DAY
  const yesterday = [ALTALE, ...Array.from({ length: 504 }, (_, index) => record(2000 + index))]
  const ratings = { rating: 480, old_rating: 180, new_rating: 300, play_count: 510 }
  expect(await sync(incremental(yesterday, ratings))).toMatchObject({ status: 200, json: { stored_records: 505 } })

  clock.now = NOON
  expectGolden(await sync(golden('chunk.request')), 200, 'chunk.answer')
  expectGolden(await sync(chunk('another', [record()])), 409, 'conflict.answer')
  expectGolden(await sync(golden('final.request')), 200, 'final.answer')
  expectGolden(await player(QQ, '/trend'), 200, 'trend.answer')
  // The rating is computed, and the second record is the one of the first chunk.
  const { records, ...summary } = (await player(QQ)).json
  expect(records).toEqual([ALTALE, JSON.parse(golden('chunk.request')).records[0]])
  const { records: shown, ...documented } = JSON.parse(golden('player.answer'))
  expect([summary, records.slice(0, 1)]).toEqual([documented, shown])
})

test('a player is shown as documented, with and without records', async () => {
  const { sync, player } = await startSync()
  const { records } = JSON.parse(golden('final.request'))
  const told = { nickname: 'Tester', rating: 503, old_rating: 191, new_rating: 312, play_count: 510 }
  await sync(incremental(records, told))
  expectGolden(await player(QQ), 200, 'player.answer')
  const { records: _, ...summary } = JSON.parse(golden('player.answer'))
  expect((await player(QQ, '/summary')).text).toBe(JSON.stringify(summary))
})

test('each error is as documented', async () => {
  const { sync, player, send, database } = await startSync({ busyTimeout: 50 })
  expectGolden(
    await send('/api/bot/sync', { headers: { 'bot-token': '' }, method: 'POST' }),
    401,
    'unauthorized.answer',
  )
  expectGolden(await player(QQ), 404, 'not-found.answer')
  const { song_id: _, ...nameless } = record()
  const unprocessable = await sync(incremental([record(), record(), record(), nameless]))
  expectGolden(unprocessable, 422, 'unprocessable.answer')

  locked(database)
  expectGolden(await sync(incremental([record()])), 429, 'uploading.answer')
})
