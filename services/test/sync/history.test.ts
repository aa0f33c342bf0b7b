import { expect, it } from 'vitest'
import { expectResponse } from '../responses.ts'
import { chunk, DAY, finalChunk, HOUR, incremental, MINUTE, ONE, QQ, record, startSync, THREE, TWO } from './harness.ts'

async function withScores() {
  const running = await startSync()
  await running.sync(incremental([ONE, TWO, THREE]))
  const path = (id: string) => `/snapshots/${encodeURIComponent(id)}`
  const read = (id: string) => running.player(QQ, path(id))
  const abandon = (id: string) => running.send(`/api/bot/player/${QQ}${path(id)}`, { method: 'DELETE' })
  const undo = (body?: object) => running.send(`/api/bot/player/${QQ}/undo`, { method: 'POST', body })
  const keys = async () => Object.keys(await running.stored())
  return { ...running, read, abandon, undo, keys }
}

it('a snapshot that is open shows what has come, what is missing and when it expires', async () => {
  const { sync, read, clock } = await withScores()
  await sync(chunk('A/1 雪', [ONE], { chunk_index: 1, chunk_count: 3 }))
  const open = {
    snapshot_id: 'A/1 雪',
    state: 'open',
    opened_at: '2026-08-25T10:00:00.000Z',
    updated_at: '2026-08-25T10:00:00.000Z',
    expires_at: '2026-08-25T10:30:00.000Z',
    chunks: 1,
    chunk_count: 3,
    missing_chunks: [0, 2],
    deletes: true,
    removed: 0,
    restorable: 0,
    restorable_until: null,
  }
  expect(await read('A/1 雪')).toMatchObject({ status: 200, json: open })
  clock.now += 31 * MINUTE
  const expired = { ...open, state: 'expired', expires_at: null, missing_chunks: [] }
  expect((await read('A/1 雪')).json).toEqual(expired)
})

it('a snapshot that is finished shows what it has deleted and until when it can be put back', async () => {
  const { sync, player } = await withScores()
  await sync(finalChunk('A', [ONE]))
  await sync({ qq: QQ, full_snapshot: true, records: [ONE] })
  await sync(chunk('C', [{ ...ONE, song_id: 0 }]))
  const { qq, snapshots } = (await player(QQ, '/snapshots')).json
  expect(qq).toBe(QQ)
  expect(snapshots).toMatchObject([
    { snapshot_id: 'C', state: 'open', deletes: false },
    { snapshot_id: expect.stringMatching(/^[\da-f-]{36}$/), state: 'closed', removed: 0 },
    { snapshot_id: 'A', removed: 2, restorable: 2, restorable_until: '2026-09-01T10:30:00.000Z' },
  ])
})

it('a snapshot that was refused before it began is known by that', async () => {
  const { sync, read } = await withScores()
  await sync(chunk('A', [{}]))
  expect((await read('A')).json).toMatchObject({ state: 'refused', deletes: false, chunks: 0 })
})

it('a snapshot that is open can be given up, and another may begin at once', async () => {
  const { sync, abandon, keys } = await withScores()
  await sync(chunk('A', [ONE]))
  expect((await sync(chunk('B', [TWO]))).status).toBe(409)
  for (let time = 0; time < 2; time++) expect((await abandon('A')).json).toMatchObject({ state: 'abandoned' })
  expect((await sync(finalChunk('A', [ONE]))).json.detail).toBe('snapshot_abandoned')
  expect(await keys()).toHaveLength(3)
  await sync(chunk('B', [TWO]))
  expect((await sync(finalChunk('B', [THREE]))).json).toMatchObject({ status: 'ok', removed: 1 })
})

it('a snapshot that is finished cannot be given up', async () => {
  const { sync, abandon } = await withScores()
  await sync(finalChunk('A', [ONE]))
  expect(await abandon('A')).toMatchObject({ status: 409, json: { detail: 'snapshot_closed' } })
})

it('a snapshot that is unknown, or of another player, is not found', async () => {
  const { sync, read, abandon, undo, player } = await withScores()
  await sync(chunk('B', [ONE], { qq: QQ + 1 }))
  for (const response of [await read('A'), await abandon('B'), await undo({ snapshot_id: 'B' }), await undo()]) {
    expectResponse(response, 404, { detail: 'snapshot not found' })
  }
  expect((await player(QQ + 2, '/snapshots')).json).toEqual({ detail: 'player not found' })
})

it('undo puts back what the last snapshot has deleted, also if asked twice and after a restart', async () => {
  const { sync, undo, stored, restart } = await withScores()
  const before = await stored()
  await sync(chunk('A', [TWO]))
  expect((await sync(finalChunk('A', [TWO]))).json.removed).toBe(2)
  await restart()
  const response = { status: 'ok', snapshot_id: 'A', restored: 2, updated: 0, skipped: 0, stored_records: 3 }
  expect((await undo()).json).toEqual(response)
  expect(await stored()).toEqual(before)
  expect((await undo()).json).toEqual({ ...response, restored: 0, skipped: 2 })
  expect(await stored()).toEqual(before)
})

it('undo works for a snapshot that had no id, and for an older one', async () => {
  const { sync, undo, keys } = await withScores()
  await sync({ qq: QQ, full_snapshot: true, records: [ONE, TWO] })
  expect((await undo(null as never)).json).toMatchObject({ restored: 1 })
  await sync(finalChunk('A', [ONE]))
  await sync(finalChunk('B', [ONE]))
  expect((await undo({})).json).toMatchObject({ snapshot_id: 'B', restored: 0 })
  expect((await undo({ snapshot_id: 'A' })).json).toMatchObject({ restored: 2 })
  expect(await keys()).toHaveLength(3)
})

it('undo never lowers what was stored again meanwhile', async () => {
  const { sync, undo, stored } = await withScores()
  await sync(finalChunk('A', [ONE]))
  const better = record(2002, { achievements: 100, dxScore: 999 })
  await sync(incremental([better, record(2003, { achievements: 100, dxScore: 1001, fc: 'ap' })]))
  expect((await undo()).json).toMatchObject({ restored: 0, updated: 1, skipped: 1 })
  expect(await stored()).toMatchObject({
    '2002/3': { achievements: 100, dxScore: 1000 },
    '2003/3': { achievements: 100, dxScore: 1001, fc: 'ap' },
  })
})

it('undo is not deleted again by the end of a snapshot that is open', async () => {
  const { sync, undo, keys } = await withScores()
  await sync(finalChunk('A', [ONE]))
  await sync(chunk('B', [ONE]))
  await undo()
  expect((await sync(finalChunk('B', [ONE]))).json.removed).toBe(0)
  expect(await keys()).toHaveLength(3)
})

it('undo can be asked for for a week', async () => {
  const { sync, undo, clock } = await withScores()
  await sync(finalChunk('A', [ONE]))
  clock.now += 7 * DAY
  await sync(finalChunk('B', [ONE]))
  expect((await undo({ snapshot_id: 'A' })).json).toMatchObject({ restored: 2 })
  clock.now += 8 * DAY + HOUR
  await sync(finalChunk('C', [ONE]))
  expect((await undo({ snapshot_id: 'A' })).status).toBe(404)
})
