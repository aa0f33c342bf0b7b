import { expect, it } from 'vitest'
import { chunk, finalChunk, incremental, QQ, startSync } from './harness.ts'

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
  const answers = []
  for (const body of send([score(837, 1), bad])) answers.push(await sync(body))
  const { '837/1': _, ...left } = await stored()
  for (const [key, record] of Object.entries(left)) expect(record, key).toEqual(before[key])
  return { left: Object.keys(left), answer: answers.at(-1)?.json }
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
    const { left, answer } = await leftBy(bad, send)
    const name = JSON.stringify(bad).slice(0, 120)
    expect(left, name).toEqual(kept)
    expect(answer, name).toMatchObject({ status: 'ok', removed: STORED.length - 1 - kept.length })
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
