import { describe, expect, it } from 'vitest'
import { chunk, finalChunk, incremental, MINUTE, QQ, startSync } from './harness.ts'

/** A chart that a snapshot names is never deleted by that snapshot, whatever is wrong with its record. */

const score = (song_id: number, level_index: number, more: object = {}) => ({
  song_id,
  level_index,
  achievements: 90,
  ...more,
})
const STORED = [
  score(11466, 2),
  score(11466, 3),
  score(1466, 3),
  score(1466, 4),
  score(101466, 0),
  score(101466, 1),
  score(837, 1),
]
const MASTER = score(11466, 3, { type: 'DX' })

/** What a snapshot of one good record and a bad one leaves beside the good one. */
async function leftBy(bad: object, send: (records: object[]) => object[]) {
  const { sync, stored } = await startSync()
  await sync(incremental(STORED))
  const before = await stored()
  const responses = []
  for (const body of send([score(837, 1), bad])) responses.push(await sync(body))
  const { '837/1': _, ...left } = await stored()
  for (const [key, record] of Object.entries(left)) expect(record, key).toEqual(before[key])
  return { left: Object.keys(left), response: responses.at(-1)?.json }
}

const WAYS: readonly [string, (records: object[]) => object[]][] = [
  ['in one request', (records) => [{ qq: QQ, full_snapshot: true, records }]],
  ['in one chunk', (records) => [finalChunk('A', records)]],
  ['before the last chunk', (records) => [chunk('A', records), finalChunk('A', [])]],
  ['in the last chunk', ([good, bad]) => [chunk('A', [good as object]), finalChunk('A', [bad as object])]],
]

const EVERY_TYPE = ['1466/3', '11466/3', '101466/0', '101466/1']
const EVERY_LEVEL = ['1466/3', '1466/4', '11466/2', '11466/3', '101466/0', '101466/1']

it.each(WAYS)('a record that cannot be used keeps its chart, %s', async (_name, send) => {
  for (const [bad, kept] of [
    [{ ...MASTER, dxScore: 2935 }, ['11466/3']],
    [{ ...MASTER, achievements: 101.0001 }, ['11466/3']],
    [{ ...MASTER, achievements: -1 }, ['11466/3']],
    [{ ...MASTER, ds: 20.5 }, ['11466/3']],
    [{ ...MASTER, ra: 1000 }, ['11466/3']],
    [{ ...MASTER, title: 'x'.repeat(300) }, ['11466/3']],
    [{ ...MASTER, song_id: 1466, dxScore: -1 }, ['11466/3']],
    [{ ...MASTER, song_id: 1466, type: 'SD', dxScore: -1 }, ['1466/3']],
    [score(101466, 0, { achievements: 203 }), ['101466/0']],
    // Which of the charts is meant cannot be said.
    [{ ...MASTER, type: 'nonsense' }, EVERY_TYPE],
    [{ ...MASTER, song_id: 1466, type: 'nonsense' }, EVERY_TYPE],
    [{ ...MASTER, type: 'SD' }, EVERY_TYPE],
    [{ ...MASTER, level_index: 5 }, EVERY_LEVEL],
    [{ ...MASTER, level_index: -1 }, EVERY_LEVEL],
    [score(101466, 10), EVERY_LEVEL],
  ] as const) {
    const { left, response } = await leftBy(bad, send)
    const name = JSON.stringify(bad).slice(0, 120)
    expect(left, name).toEqual(kept)
    expect(response, name).toMatchObject({ status: 'ok', removed: STORED.length - 1 - kept.length })
  }
})

it('a snapshot of unusable and good records of one chart overwrites it, in any order', async () => {
  const { sync, stored } = await startSync()
  await sync(incremental([score(11466, 3, { achievements: 95 })]))
  const [good, bad] = [score(11466, 3, { achievements: 94 }), score(11466, 3, { dxScore: 2935 })]
  for (const [id, first, second] of [
    ['A', good, bad],
    ['B', bad, good],
  ] as const) {
    await sync(chunk(id, [first]))
    await sync(finalChunk(id, [second]))
    expect(await stored(), id).toMatchObject({ '11466/3': { achievements: 94 } })
  }
})

const KEPT = ['nothing was deleted: a record names no song, or a chunk was refused and has not come again']

it.each(WAYS)('a record that names no song keeps every score, %s', async (_name, send) => {
  for (const song_id of [0, -11466]) {
    const { left, response } = await leftBy({ ...MASTER, song_id }, send)
    expect([left.length, response.removed, response.warnings]).toEqual([STORED.length - 1, 0, KEPT])
  }
})

const { song_id: _, ...NAMELESS } = MASTER
const GOOD = score(837, 1)
const unreadable: [string, object[], object][] = [
  ['a record without a song', [MASTER, NAMELESS], {}],
  ['a song that is text', [{ ...MASTER, song_id: '11466' }], {}],
  ['a DX score that is text', [{ ...MASTER, dxScore: 'many' }], {}],
  ['a lamp that is a number', [{ ...MASTER, fc: 3 }], {}],
  ['a name that is too long', [MASTER], { nickname: 'x'.repeat(65) }],
]

describe.each(unreadable)('a chunk that is refused for %s', (_name, records, more) => {
  it.each([
    ['before all others', [[], [GOOD]]],
    ['between others', [[GOOD], []]],
    ['before the last', [[score(837, 1, { achievements: 91 })], [GOOD]]],
  ])('%s, keeps every score', async (_where, [before = [], after = []]) => {
    const { sync, stored } = await startSync()
    await sync(incremental(STORED))
    if (before.length > 0) await sync(chunk('A', before))
    expect((await sync(chunk('A', records, more))).status).toBe(422)
    const last = await sync(finalChunk('A', after))
    expect(last.json).toMatchObject({ status: 'ok', removed: 0, stored_records: STORED.length, warnings: KEPT })
    expect(Object.keys(await stored())).toHaveLength(STORED.length)
    // The next one is not held up by it.
    expect((await sync(finalChunk('B', [GOOD]))).json).toMatchObject({ removed: STORED.length - 1 })
  })

  it('a chunk that is refused keeps no score if it has a number and comes again', async () => {
    const { sync } = await startSync()
    await sync(incremental(STORED))
    const numbered = (index: number, final: boolean, sent: object[], also = {}) =>
      chunk('A', sent, { snapshot_final: final, chunk_index: index, chunk_count: 2, ...also })
    expect((await sync(numbered(0, false, records, more))).status).toBe(422)
    expect((await sync(numbered(1, true, [GOOD]))).json.missing_chunks).toEqual([0])
    await sync(numbered(0, false, [MASTER]))
    const last = (await sync(numbered(1, true, [GOOD]))).json
    expect(last).toMatchObject({ status: 'ok', removed: STORED.length - 2 })
    expect(last).not.toHaveProperty('warnings')
  })
})

it('a last chunk that is refused because none of its records can be used keeps every score', async () => {
  const { sync } = await startSync()
  await sync(incremental(STORED))
  expect((await sync(finalChunk('A', [{ ...MASTER, dxScore: 2935 }]))).status).toBe(400)
  expect((await sync(finalChunk('A', [GOOD]))).json).toMatchObject({ removed: 0, warnings: KEPT })
})

it('a chunk that is refused because another snapshot is open keeps every score until it comes again', async () => {
  const { sync, clock } = await startSync()
  await sync(incremental(STORED))
  for (const [open, id, comesAgain, removed] of [
    ['A', 'B', false, 0],
    ['C', 'D', true, STORED.length - 2],
  ] as const) {
    await sync(chunk(open, [GOOD]))
    expect((await sync(chunk(id, [MASTER]))).status).toBe(409)
    clock.now += 31 * MINUTE
    if (comesAgain) expect((await sync(chunk(id, [MASTER]))).json.status).toBe('partial')
    const last = await sync(finalChunk(id, [GOOD]))
    expect(last.json).toMatchObject({ status: 'ok', removed })
    expect(last.json.warnings).toEqual(comesAgain ? undefined : KEPT)
  }
})

it('a refused chunk of a snapshot that is over changes nothing of it', async () => {
  const { sync } = await startSync()
  await sync(incremental(STORED))
  await sync(finalChunk('A', [GOOD]))
  expect((await sync(chunk('A', [NAMELESS]))).status).toBe(422)
  expect((await sync(finalChunk('A', [GOOD]))).json).toMatchObject({ status: 'ok', skipped: 1 })
})
