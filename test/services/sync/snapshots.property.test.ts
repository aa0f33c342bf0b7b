import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MINUTE, startSync } from './harness.ts'
import { largest, Model, type ModelRecord, type Upload } from './model.ts'

const anyRecord: fc.Arbitrary<ModelRecord> = fc.record({
  song_id: fc.constantFrom(2001, 2002, 2003),
  level_index: fc.constantFrom(0, 3),
  achievements: fc.constantFrom(90, 99.5, 100.5),
  dxScore: fc.constantFrom(1, 2),
  fc: fc.constantFrom('', 'fc', 'ap'),
  fs: fc.constantFrom('', 'sync', 'fs', 'fsdp'),
})
const someRecords = fc.array(anyRecord, { maxLength: 4 })

type Command = { do: 'upload'; upload: Upload } | { do: 'restart' } | { do: 'wait'; minutes: number }

/** Few different contents, so that repeats are common. */
const commands = fc
  .array(someRecords, { minLength: 3, maxLength: 5 })
  .chain((contents) =>
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: upload(contents, fc.constantFrom('A', 'A', 'A', 'B')) },
        { weight: 1, arbitrary: upload(contents, fc.constant(null)) },
        { weight: 1, arbitrary: fc.constant<Command>({ do: 'restart' }) },
        { weight: 2, arbitrary: fc.constantFrom(1, 15, 16, 31).map((minutes): Command => ({ do: 'wait', minutes })) },
      ),
      { minLength: 5, maxLength: 25 },
    ),
  )

function upload(contents: ModelRecord[][], ids: fc.Arbitrary<string | null>): fc.Arbitrary<Command> {
  return fc
    .record({
      records: fc.constantFrom(...contents),
      full: fc.constantFrom(true, true, true, false),
      id: ids,
      final: fc.constantFrom(true, false, false, false),
    })
    .map((one) => ({ do: 'upload', upload: one.full ? one : { ...one, id: null } }))
}

type Running = Awaited<ReturnType<typeof startSync>>
let nextPlayer = 10_000

/** Each run has a player of its own in one service. */
function uploadTo({ sync }: Running, qq: number, { records, full, id, final }: Upload) {
  return sync({ qq, full_snapshot: full, snapshot_id: id, snapshot_final: final, records })
}

/** The stored scores, as far as the model knows them. */
async function storedOf({ stored }: Running, qq: number): Promise<Record<string, ModelRecord>> {
  const known = (r: ModelRecord) => {
    const { song_id, level_index, achievements, dxScore, fc, fs } = r
    return { song_id, level_index, achievements, dxScore, fc, fs }
  }
  const scores = Object.entries((await stored(qq)) as Record<string, ModelRecord>)
  return Object.fromEntries(scores.map(([key, record]) => [key, known(record)]))
}

test('chunks, repeats, other snapshots, incremental syncs, restarts and expiry leave what the model says', async () => {
  const running = await startSync()
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      const qq = nextPlayer++
      const model = new Model()
      for (const command of list) {
        if (command.do === 'restart') await running.restart()
        if (command.do === 'wait') {
          model.minute += command.minutes
          running.clock.now += command.minutes * MINUTE
        }
        if (command.do !== 'upload') continue
        const before = Object.keys(model.stored())
        const expected = model.upload(command.upload)
        const answer = await uploadTo(running, qq, command.upload)
        expect(answer.status === 200 ? answer.json.status : String(answer.status)).toBe(expected)
        const after = await storedOf(running, qq)
        expect(after).toEqual(model.stored())
        if (expected !== 'ok' || !command.upload.full)
          expect(Object.keys(after)).toEqual(expect.arrayContaining(before))
        const { imported, updated, skipped, stored_records } = answer.json
        if (answer.status !== 200) continue
        expect(imported + updated + skipped).toBe(command.upload.records.length)
        expect(stored_records).toBe(Object.keys(after).length)
      }
    }),
    { numRuns: 60 },
  )
}, 120_000)

test('the chunks of a snapshot give one result in any order and with any repeats, whatever was stored before', async () => {
  const running = await startSync()
  const chunks = fc.array(someRecords, { minLength: 1, maxLength: 4 })
  const cases = fc.tuple(someRecords, chunks).chain(([old, parts]) => {
    const order = fc.shuffledSubarray([...parts, ...parts], { minLength: 2 * parts.length })
    return fc.record({ old: fc.constant(old), parts: fc.constant(parts), orders: fc.tuple(order, order) })
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ old, parts, orders }) => {
      fc.pre(parts.some((part) => part.length > 0))
      const results: object[] = []
      for (const order of orders) {
        const qq = nextPlayer++
        await uploadTo(running, qq, { records: old, full: false, id: null, final: false })
        for (const [index, records] of order.entries()) {
          const final = index === order.length - 1
          const { json } = await uploadTo(running, qq, { records, full: true, id: 'A', final })
          expect(json.status).toBe(final ? 'ok' : 'partial')
        }
        results.push(await storedOf(running, qq))
      }
      const union = Object.fromEntries(largest(parts.flat()))
      expect(results).toEqual([union, union])
    }),
    { numRuns: 30 },
  )
}, 120_000)
