import { describe, expect, it } from 'vitest'
import { expectResponse } from '../responses.ts'
import { chunk, DAY, finalChunk, incremental, MINUTE, NOON, ONE, QQ, record, startSync, THREE, TWO } from './harness.ts'

/** The response at the end of snapshot A, but for what it has counted. */
const DONE = { status: 'ok', snapshot_id: 'A', imported: 0, updated: 0, skipped: 0, removed: 0, errors: [] }

/** A service whose player has records 1 and 2, from an incremental sync. */
async function withScores() {
  const running = await startSync()
  await running.sync(incremental([ONE, TWO]))
  const keys = async (qq = QQ) => Object.keys(await running.stored(qq)).map((key) => Number(key.split('/')[0]))
  return { ...running, keys }
}

describe('without an open snapshot', () => {
  it('a chunk is stored, and nothing is deleted', async () => {
    const { sync, keys } = await withScores()
    expect((await sync(chunk('A', [THREE]))).json).toEqual({
      ...DONE,
      status: 'partial',
      imported: 1,
      stored_records: 3,
      removed: undefined,
    })
    expect(await keys()).toEqual([2001, 2002, 2003])
  })

  it.each([
    ['without an id', { full_snapshot: true }, null],
    ['without an id, called final', { full_snapshot: true, snapshot_final: true }, null],
    ['with an id and final', { full_snapshot: true, snapshot_id: 'A', snapshot_final: true }, 'A'],
    ['with nulls for what it does not have', { full_snapshot: true, snapshot_id: null, snapshot_final: null }, null],
  ])('a snapshot %s is whole in one request', async (_name, more, id) => {
    const { sync, keys } = await withScores()
    expect((await sync(incremental([TWO, THREE], more))).json).toEqual({
      ...DONE,
      snapshot_id: id,
      imported: 1,
      skipped: 1,
      stored_records: 2,
      removed: 1,
    })
    expect(await keys()).toEqual([2002, 2003])
  })

  it('an empty snapshot in one request deletes nothing', async () => {
    const { sync, keys } = await withScores()
    for (const records of [[], [record(2001, { achievements: 500 })]]) {
      expectResponse(await sync({ qq: QQ, full_snapshot: true, records }), 400, {
        detail: 'the snapshot has no valid record',
      })
      expect((await sync(finalChunk('A', records))).status).toBe(400)
    }
    expect(await keys()).toEqual([2001, 2002])
    expect((await sync(chunk('B', [ONE]))).status).toBe(200)
  })
})

describe('with an open snapshot', () => {
  it('the last chunk deletes what no chunk has brought', async () => {
    const { sync, keys } = await withScores()
    await sync(chunk('A', [TWO]))
    await sync(chunk('A', [TWO]))
    const response = await sync(finalChunk('A', [THREE]))
    expect(response.json).toMatchObject({ status: 'ok', snapshot_id: 'A', imported: 1, stored_records: 2, removed: 1 })
    expect(await keys()).toEqual([2002, 2003])
  })

  it('the last chunk may be empty when another one was not', async () => {
    const { sync, keys } = await withScores()
    await sync(chunk('A', [TWO]))
    expect((await sync(finalChunk('A', []))).json).toMatchObject({ status: 'ok', stored_records: 1, removed: 1 })
    expect(await keys()).toEqual([2002])
  })

  it('a last chunk that leaves it empty is refused, and it stays open', async () => {
    const { sync, keys } = await withScores()
    const useless = record(2001, { level_index: 9 })
    expect((await sync(chunk('A', [useless]))).json).toMatchObject({ status: 'partial', skipped: 1 })
    // A score that was set meanwhile is no part of what the client read.
    await sync(incremental([THREE]))
    expect((await sync(finalChunk('A', []))).status).toBe(400)
    expect(await keys()).toEqual([2001, 2002, 2003])
    expect((await sync(chunk('B', [ONE]))).status).toBe(409)
    expect((await sync(finalChunk('A', [ONE]))).json).toMatchObject({ status: 'ok', removed: 1, stored_records: 2 })
  })

  it.each([
    ['a chunk of another', chunk('B', [THREE])],
    ['a last chunk of another', finalChunk('B', [THREE])],
    ['a snapshot in one request', { qq: QQ, full_snapshot: true, records: [THREE] }],
  ])('while a snapshot is open, %s is refused', async (_name, body) => {
    const { sync, keys } = await withScores()
    await sync(chunk('A', [ONE]))
    expectResponse(await sync(body), 409, { detail: 'snapshot A is not finished', open_snapshot_id: 'A' })
    expect(await keys()).toEqual([2001, 2002])
  })

  it('what an incremental sync brings meanwhile survives the end', async () => {
    const { sync, keys } = await withScores()
    await sync(chunk('A', [ONE]))
    expect((await sync(incremental([TWO, THREE]))).json).toMatchObject({ status: 'ok', snapshot_id: null, removed: 0 })
    expect((await sync(finalChunk('A', [ONE]))).json).toMatchObject({ removed: 0, stored_records: 3 })
    expect(await keys()).toEqual([2001, 2002, 2003])
    // The next snapshot owes it nothing.
    await sync(chunk('B', [ONE]))
    expect((await sync(finalChunk('B', [ONE]))).json.removed).toBe(2)
  })

  it('what an incremental sync brings meanwhile is not lowered by a chunk, before and after it', async () => {
    const { sync, stored } = await withScores()
    const played = record(2001, { achievements: 100.5, dxScore: 900, fc: 'ap' })
    const read = record(2001, { achievements: 99, dxScore: 950, fc: 'fc' })
    await sync(chunk('A', [TWO]))
    await sync(incremental([played]))
    for (const body of [chunk('A', [read]), chunk('A', [read]), finalChunk('A', [record(2001)])]) {
      await sync(body)
      expect(await stored()).toMatchObject({ '2001/3': { achievements: 100.5, fc: 'ap' } })
    }
  })

  it('a snapshot of one player leaves the others alone', async () => {
    const { sync, keys } = await withScores()
    const other = { qq: QQ + 1 }
    await sync(chunk('A', [ONE]))
    expect((await sync(chunk('B', [THREE], other))).status).toBe(200)
    await sync(finalChunk('B', [TWO], other))
    expect(await keys()).toEqual([2001, 2002])
    expect(await keys(QQ + 1)).toEqual([2002, 2003])
  })

  it('a restart keeps the snapshot open, with all that it has had', async () => {
    const { sync, keys, restart } = await withScores()
    await sync(chunk('A', [TWO]))
    await restart()
    expect((await sync(chunk('B', [ONE]))).status).toBe(409)
    await sync(finalChunk('A', [THREE]))
    expect(await keys()).toEqual([2002, 2003])
    await restart()
    expect((await sync(chunk('A', [TWO]))).json).toMatchObject({ status: 'ok', imported: 0, updated: 0 })
  })
})

it('an idle snapshot is open for 30 minutes after its last chunk, whatever else came', async () => {
  const { sync, clock } = await withScores()
  await sync(chunk('A', [ONE]))
  clock.now += 29 * MINUTE
  await sync(chunk('A', [TWO]))
  clock.now += 29 * MINUTE
  await sync(incremental([THREE]))
  clock.now += MINUTE
  expect((await sync(chunk('B', [ONE]))).status).toBe(409)
  clock.now += 1
  expect((await sync(chunk('B', [ONE]))).status).toBe(200)
})

it('an idle snapshot expires as long after as the configuration says', async () => {
  const { sync, clock } = await startSync({ snapshotIdleMs: 1000 })
  await sync(chunk('A', [ONE]))
  clock.now += 1001
  expect((await sync(chunk('B', [ONE]))).status).toBe(200)
})

it('an idle snapshot leaves what was written, and takes no chunk any more with an error that says so', async () => {
  const { sync, clock, stored } = await withScores()
  await sync(chunk('A', [THREE]))
  clock.now = NOON + 31 * MINUTE
  const before = await stored()
  expect(Object.keys(before)).toEqual(['2001/3', '2002/3', '2003/3'])
  for (const late of [chunk('A', [THREE]), chunk('A', [ONE]), finalChunk('A', [THREE]), finalChunk('A', [ONE])]) {
    const response = await sync(late)
    expectResponse(response, 409, { detail: 'snapshot_expired', open_snapshot_id: null })
    expect(response.headers.get('retry-after')).toBeNull()
  }
  expect(await stored()).toEqual(before)
  await sync(chunk('B', [ONE]))
  expect((await sync(finalChunk('A', [ONE]))).json).toEqual({ detail: 'snapshot_expired', open_snapshot_id: 'B' })
  await sync(finalChunk('B', [TWO]))
  expect((await sync(finalChunk('A', [ONE]))).json.detail).toBe('snapshot_expired')
  expect(Object.keys(await stored())).toEqual(['2001/3', '2002/3'])
})

it('an idle snapshot stays expired when the clock goes back', async () => {
  const { sync, clock, keys } = await withScores()
  await sync(chunk('A', [ONE]))
  clock.now += 31 * MINUTE
  await sync(chunk('B', [TWO]))
  clock.now = NOON
  expect((await sync(finalChunk('A', [ONE]))).json).toEqual({ detail: 'snapshot_expired', open_snapshot_id: null })
  expect(await keys()).toEqual([2001, 2002])
})

it('an idle snapshot of a clock that was ahead for a moment blocks nobody for as long', async () => {
  const { sync, clock } = await withScores()
  clock.now += 24 * 60 * MINUTE
  await sync(chunk('A', [ONE]))
  clock.now = NOON
  expect((await sync(chunk('B', [ONE]))).status).toBe(200)
})

it('an idle snapshot protects nothing of an incremental sync after it', async () => {
  const { sync, clock, keys } = await withScores()
  await sync(chunk('A', [ONE]))
  clock.now += 31 * MINUTE
  await sync(incremental([THREE]))
  await sync(finalChunk('B', [TWO]))
  expect(await keys()).toEqual([2002])
})

async function finished() {
  const running = await withScores()
  await running.sync(chunk('A', [TWO]))
  await running.sync(finalChunk('A', [THREE], { nickname: 'Before' }))
  return running
}

it('a finished snapshot takes each of its chunks again and writes nothing', async () => {
  const { sync, player, clock } = await finished()
  await sync(incremental([record(2003, { achievements: 100 })]))
  const before = (await player(QQ)).text
  clock.now += 5 * MINUTE
  for (const repeat of [chunk('A', [TWO]), finalChunk('A', [THREE], { nickname: 'After' }), finalChunk('A', [TWO])]) {
    expect((await sync(repeat)).json).toEqual({ ...DONE, skipped: 1, stored_records: 2 })
  }
  expect((await player(QQ)).text).toBe(before)
})

it('a finished snapshot takes a chunk that comes late as an addition, which never lowers and deletes nothing', async () => {
  const { sync, stored } = await finished()
  const late = [ONE, record(2002, { achievements: 90, dxScore: 1001 })]
  expect((await sync(chunk('A', late))).json).toEqual({ ...DONE, imported: 1, updated: 1, stored_records: 3 })
  expect((await sync(finalChunk('A', [record(2003, { achievements: 98 })]))).json).toMatchObject({ removed: 0 })
  const after = await stored()
  expect(after).toMatchObject({ '2001/3': {}, '2002/3': { achievements: 99.5, dxScore: 1001 } })
  expect(after).toMatchObject({ '2003/3': { achievements: 99.5 } })
  await sync(incremental([record(2001, { achievements: 100 })]))
  expect((await sync(chunk('A', late))).json).toMatchObject({ status: 'ok', imported: 0, updated: 0, skipped: 2 })
  expect(await stored()).toMatchObject({ '2001/3': { achievements: 100 } })
})

it('a finished snapshot gives way to the next', async () => {
  const { sync, keys } = await finished()
  await sync(chunk('B', [ONE]))
  await sync(finalChunk('B', [TWO]))
  expect(await keys()).toEqual([2001, 2002])
  // What the first has had is nothing that the second has had.
  expect((await sync(chunk('B', [THREE]))).json).toMatchObject({ status: 'ok', imported: 1 })
})

it('a finished snapshot that is not the last one any more takes its chunks again, writes nothing and refuses others', async () => {
  const { sync, stored, clock } = await finished()
  const recent = [record(2001), record(2002, { achievements: 100 }), record(2004)]
  const older = [chunk('A', [TWO]), finalChunk('A', [THREE])]
  const holds = async (open: string | null) => {
    const before = await stored()
    for (const repeat of older) {
      expect((await sync(repeat)).json).toMatchObject({ status: 'ok', imported: 0, updated: 0, removed: 0 })
    }
    for (const late of [chunk('A', [record(2002, { achievements: 101 })]), finalChunk('A', [ONE, TWO])]) {
      expectResponse(await sync(late), 409, { detail: 'snapshot_closed', open_snapshot_id: open })
    }
    expect(await stored()).toEqual(before)
  }
  await sync(chunk('B', recent))
  await holds('B')
  expect((await sync(finalChunk('B', [record(2005)]))).json).toMatchObject({ status: 'ok', stored_records: 4 })
  await holds(null)
  await sync(chunk('C', recent))
  clock.now += 31 * MINUTE
  await holds(null)
  await sync({ qq: QQ, full_snapshot: true, records: recent })
  await holds(null)
  clock.now += 6 * DAY
  await holds(null)
  expect((await sync(chunk('D', recent))).json).toMatchObject({ status: 'partial' })
  expect((await sync(finalChunk('D', recent))).json).toMatchObject({ status: 'ok' })
})

it('a finished snapshot is remembered by its hundreds', async () => {
  const { sync, keys } = await withScores()
  for (let index = 0; index < 300; index++) await sync(finalChunk(`S${index}`, [ONE]))
  await sync(finalChunk('last', [ONE, TWO, THREE]))
  expect((await sync(finalChunk('S0', [ONE]))).json).toMatchObject({ status: 'ok', removed: 0 })
  expect(await keys()).toEqual([2001, 2002, 2003])
})

it('a finished snapshot stays finished after a snapshot without an id', async () => {
  const { sync } = await finished()
  await sync({ qq: QQ, full_snapshot: true, records: [ONE] })
  expect((await sync(chunk('A', [TWO]))).json).toMatchObject({ status: 'ok', imported: 0, stored_records: 1 })
  expect((await sync(chunk('A', [ONE]))).json.detail).toBe('snapshot_closed')
})

it('a chunk of another snapshot gets an error that says how long to wait', async () => {
  const { sync, clock } = await withScores()
  await sync(chunk('A', [ONE]))
  clock.now += 10 * MINUTE + 1
  const refused = await sync(chunk('B', [TWO]))
  const wait = Number(refused.headers.get('retry-after'))
  expect([refused.status, wait]).toEqual([409, 20 * 60])
  clock.now += wait * 1000
  expect((await sync(chunk('B', [TWO]))).status).toBe(200)
})

describe('numbered chunks', () => {
  const part = (index: number, records: object[], count = 3) =>
    chunk('A', records, { chunk_index: index, chunk_count: count, snapshot_final: index === count - 1 })

  it('numbered chunks are missed at the end, and nothing is deleted or stored before all are there', async () => {
    const { sync, keys } = await withScores()
    await sync(part(1, [TWO]))
    expectResponse(await sync(part(2, [THREE])), 409, {
      detail: 'missing_chunks',
      open_snapshot_id: 'A',
      missing_chunks: [0],
    })
    expect(await keys()).toEqual([2001, 2002])
    await sync(part(0, []))
    expect((await sync(part(2, [THREE]))).json).toMatchObject({ status: 'ok', removed: 1 })
    expect(await keys()).toEqual([2002, 2003])
  })

  it('numbered chunks are missed when the last comes first', async () => {
    const { sync, keys } = await withScores()
    const lonely = { detail: 'missing_chunks', open_snapshot_id: null, missing_chunks: [0, 1] }
    expect((await sync(part(2, [THREE]))).json).toEqual(lonely)
    expect(await keys()).toEqual([2001, 2002])
  })

  it.each([
    ['another count', { chunk_index: 1, chunk_count: 2 }],
    ['no number', {}],
  ])('numbered chunks are refused with %s, and nothing is deleted', async (_name, numbers) => {
    const { sync, keys } = await withScores()
    await sync(part(0, [TWO]))
    for (const body of [chunk('A', [THREE], numbers), finalChunk('A', [THREE], numbers)]) {
      expectResponse(await sync(body), 409, { detail: 'chunk_count_changed', open_snapshot_id: 'A', chunk_count: 3 })
    }
    expect(await keys()).toEqual([2001, 2002])
    await sync(part(1, []))
    expect((await sync(part(2, [THREE]))).json).toMatchObject({ status: 'ok', removed: 1 })
  })

  it('numbered chunks are refused if those before them had none', async () => {
    const { sync, keys } = await withScores()
    await sync(chunk('A', [THREE]))
    expectResponse(await sync(part(2, [TWO])), 409, {
      detail: 'chunk_count_changed',
      open_snapshot_id: 'A',
      chunk_count: null,
    })
    // Nobody knows what else the snapshot names.
    expect((await sync(finalChunk('A', [THREE]))).json).toMatchObject({ status: 'ok', removed: 0 })
    expect(await keys()).toEqual([2001, 2002, 2003])
  })

  it('numbered chunks are refused under a number that another one has', async () => {
    const { sync, keys } = await withScores()
    const taken = { detail: 'chunk_index_taken', open_snapshot_id: 'A', chunk_index: 0 }
    await sync(part(0, [TWO]))
    expect((await sync(part(0, [TWO]))).json).toMatchObject({ status: 'partial', skipped: 1 })
    expect(await sync(part(0, [THREE]))).toMatchObject({ status: 409, json: taken })
    await sync(part(1, []))
    await sync(part(2, [TWO, THREE]))
    expect(await keys()).toEqual([2002, 2003])
    expect(await sync(part(0, [ONE]))).toMatchObject({ status: 409, json: { ...taken, open_snapshot_id: null } })
    expect(await keys()).toEqual([2002, 2003])
  })

  it('numbered chunks may be alike, so that two empty ones are two', async () => {
    const { sync } = await withScores()
    await sync(part(0, []))
    await sync(part(1, []))
    expect((await sync(part(2, [THREE]))).json).toMatchObject({ status: 'ok', removed: 2 })
  })
})

it.each(['2026-08-25 10:00', '雪の日', '😀'.repeat(32)])('an id may be any text: %s', async (id) => {
  const { sync, keys } = await withScores()
  expect((await sync(chunk(id, [TWO]))).json).toMatchObject({ status: 'partial', snapshot_id: id })
  expect((await sync(chunk('B', [ONE]))).json).toEqual({
    detail: `snapshot ${id} is not finished`,
    open_snapshot_id: id,
  })
  expect((await sync(finalChunk(id, [THREE]))).json).toMatchObject({ status: 'ok', snapshot_id: id, removed: 1 })
  expect(await keys()).toEqual([2002, 2003])
})

it('an id without full_snapshot is refused', async () => {
  const { sync } = await startSync()
  expectResponse(await sync(incremental([ONE], { snapshot_id: 'A' })), 400, {
    detail: 'snapshot_id needs full_snapshot',
  })
})

const GOOD = record(2001, { achievements: 100, dxScore: 900, fc: 'fc', fs: 'fsd' })
const MIXED = record(2001, { achievements: 99, dxScore: 950, fc: 'ap', fs: 'sync' })

it('writes of an incremental sync keep the best of each field', async () => {
  const { sync, stored } = await startSync()
  expect((await sync(incremental([GOOD]))).json).toMatchObject({ imported: 1 })
  expect((await sync(incremental([MIXED]))).json).toMatchObject({ updated: 1 })
  expect((await sync(incremental([GOOD, MIXED]))).json).toMatchObject({ skipped: 2 })
  expect(await stored()).toMatchObject({
    '2001/3': { achievements: 100, dxScore: 950, fc: 'ap', fs: 'fsd', rate: 'sss' },
  })
})

it('writes of a snapshot overwrite, also what is better', async () => {
  const { sync, stored } = await startSync()
  await sync(incremental([GOOD]))
  expect((await sync(chunk('A', [MIXED]))).json).toMatchObject({ updated: 1 })
  expect(await stored()).toMatchObject({ '2001/3': { achievements: 99, dxScore: 950, fc: 'ap', fs: 'sync' } })
})

it.each([
  [[GOOD, MIXED]],
  [[MIXED, GOOD]],
  [[MIXED, record(2001, { achievements: 100, dxScore: 899, fc: 'app', fs: 'fsdp' }), GOOD, MIXED]],
])('writes of one key in one request, or in several chunks, keep the larger record', async (records) => {
  const { sync, stored } = await startSync()
  const larger = { '2001/3': { achievements: 100, dxScore: 900, fc: 'fc', fs: 'fsd' } }
  expect((await sync(incremental(records))).json).toMatchObject({ imported: 1, skipped: records.length - 1 })
  expect(await stored()).toMatchObject(larger)
  await sync(incremental([record(2001, { achievements: 101 })]))
  for (const each of records) await sync(chunk('A', [each]))
  await sync(finalChunk('A', [MIXED]))
  expect(await stored()).toMatchObject(larger)
})

it('writes may say DX below 10000, or the id of the DX chart, for one chart', async () => {
  const { sync, stored } = await startSync()
  await sync(incremental([record(2001, { type: 'DX' })]))
  expect((await sync(incremental([record(12001, { type: 'DX' })]))).json).toMatchObject({ skipped: 1 })
  expect(Object.keys(await stored())).toEqual(['12001/3'])
})
