import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/setup/runs.ts'
import { MINUTE, startSync } from './harness.ts'
import { keyOf, largest, Model, type ModelRecord, type Upload } from './model.ts'

const anyRecord: fc.Arbitrary<ModelRecord> = fc.record({
  song_id: fc.constantFrom(2001, 2002, 2003),
  level_index: fc.constantFrom(0, 3),
  achievements: fc.constantFrom(90, 99.5, 100.5),
  dxScore: fc.constantFrom(1, 2),
  fc: fc.constantFrom('', 'fc', 'ap'),
  fs: fc.constantFrom('', 'sync', 'fs', 'fsdp'),
})
const someRecords = fc.array(anyRecord, { maxLength: 4 })
/** Some of them cannot be stored. */
const mixedRecords = fc.array(
  fc.tuple(anyRecord, fc.constantFrom(false, false, false, true)).map(([r, bad]) => (bad ? { ...r, dxScore: -1 } : r)),
  { maxLength: 4 },
)

type Command = { do: 'upload'; upload: Upload } | { do: 'restart' } | { do: 'wait'; minutes: number }

/** Few different contents, so that repeats are common. */
const commands = fc
  .array(mixedRecords, { minLength: 3, maxLength: 6 })
  .chain((contents) =>
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: upload(contents, fc.constantFrom('A', 'A', 'B', 'B', 'C')) },
        { weight: 1, arbitrary: upload(contents, fc.constant(null)) },
        { weight: 1, arbitrary: fc.constant<Command>({ do: 'restart' }) },
        { weight: 2, arbitrary: fc.constantFrom(1, 15, 16, 31).map((minutes): Command => ({ do: 'wait', minutes })) },
      ),
      { minLength: 5, maxLength: 30 },
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
        const expected = model.upload(command.upload)
        const response = await uploadTo(running, qq, command.upload)
        expect(response.status === 200 ? response.json.status : String(response.status)).toBe(expected)
        const after = await storedOf(running, qq)
        expect(after).toEqual(model.stored())
        const { imported, updated, skipped, stored_records } = response.json
        if (response.status !== 200) continue
        expect(imported + updated + skipped).toBe(command.upload.records.length)
        expect(stored_records).toBe(Object.keys(after).length)
      }
    }),
    { numRuns: runs(50) },
  )
}, 120_000)

test('no score is lost that the newest snapshot names, and none is lowered by what is older', async () => {
  const running = await startSync()
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      const qq = nextPlayer++
      /** All that was ever sent of a snapshot, whatever became of it. */
      const named = new Map<string, Set<string>>()
      /** Ids in the order in which they were first taken; one without an id is a snapshot of its own. */
      const begun: unknown[] = []
      for (const command of list) {
        if (command.do === 'restart') await running.restart()
        if (command.do === 'wait') running.clock.now += command.minutes * MINUTE
        if (command.do !== 'upload') continue
        const { full, id, final, records } = command.upload
        const before = await storedOf(running, qq)
        const { status, json } = await uploadTo(running, qq, command.upload)
        const after = await storedOf(running, qq)
        const name = full ? (id ?? command) : null
        const names = new Set([...(named.get(String(id)) ?? []), ...records.map(keyOf)])
        if (full && id !== null) named.set(id, names)
        if (status === 200 && name !== null && !begun.includes(name)) begun.push(name)

        const lost = Object.keys(before).filter((key) => !(key in after))
        const lowered = Object.keys(after).filter((key) => isLower(after[key], before[key]))
        const isNewest = name !== null && name === begun.at(-1)
        if (status !== 200 || !isNewest) expect([lost, lowered]).toEqual([[], []])
        if (!final && id !== null) expect(lost).toEqual([])
        expect(lost.filter((key) => names.has(key))).toEqual([])
        expect(lost).toHaveLength(json.removed ?? 0)
        expect(lowered.filter((key) => !names.has(key))).toEqual([])
      }
    }),
    { numRuns: runs(50) },
  )
}, 120_000)

function isLower(now: ModelRecord | undefined, before: ModelRecord | undefined): boolean {
  if (now === undefined || before === undefined) return false
  return now.achievements < before.achievements || now.dxScore < before.dxScore
}

type Part = { index: number; count: number; records: readonly ModelRecord[]; final: boolean }

/** Parts of one snapshot as a client may send them: in any order, again, with a wrong count, with other records under a number. */
const numbered = fc
  .array(fc.array(anyRecord, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 })
  .chain((parts) => {
    const count = parts.length
    const right = fc
      .nat({ max: count - 1 })
      .map((index) => ({ index, count, records: parts[index] ?? [], final: index === count - 1 }))
    const wrong = fc.record({
      index: fc.constant(0),
      count: fc.constantFrom(1, count - 1, count + 1),
      records: fc.constantFrom(...parts),
      final: fc.boolean(),
    })
    const swapped = fc.tuple(right, fc.constantFrom(...parts)).map(([part, records]) => ({ ...part, records }))
    const part: fc.Arbitrary<Part> = fc.oneof({ weight: 8, arbitrary: right }, wrong, swapped)
    return fc.array(part, { minLength: 3, maxLength: 20 })
  })

test('a snapshot with numbers deletes once, when each of its numbers has come, and nothing that it took', async () => {
  const running = await startSync()
  await fc.assert(
    fc.asyncProperty(numbered, someRecords, async (list, old) => {
      const qq = nextPlayer++
      await uploadTo(running, qq, { records: old, full: false, id: null, final: false })
      const taken = new Map<number, string>()
      let count: number | null = null
      /** Of the first chunk that was refused before the snapshot began. */
      let refused: number | null = null
      let isOver = false
      for (const { index, count: of, records, final } of list) {
        const before = Object.keys(await storedOf(running, qq))
        const sent = { qq, full_snapshot: true, snapshot_id: 'A', snapshot_final: final }
        const { status, json } = await running.sync({ ...sent, chunk_index: index, chunk_count: of, records })
        const lost = before.length + (json.imported ?? 0) - Object.keys(await storedOf(running, qq)).length
        const text = JSON.stringify(records)
        const isKnown = [...taken.values()].includes(text)
        const isComplete = new Set([...taken.keys(), index]).size === of
        const isTaken = (count ?? of) === of && (taken.get(index) ?? text) === text && (!final || isComplete)
        expect(status).toBe((isOver && isKnown) || (!isOver && isTaken) ? 200 : 409)
        if (status === 409 && count === null) refused ??= of
        if (status !== 200 || isOver) {
          expect(lost).toBe(0)
          continue
        }
        taken.set(index, text)
        count = of
        isOver = final
        const keepsAll = refused !== null && refused !== count
        if (!final || keepsAll) expect(lost).toBe(0)
        const names = new Set([...taken.values()].flatMap((each) => JSON.parse(each) as ModelRecord[]).map(keyOf))
        if (final && !keepsAll) expect(Object.keys(await storedOf(running, qq)).sort()).toEqual([...names].sort())
      }
    }),
    { numRuns: runs(50) },
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
    { numRuns: runs(30) },
  )
}, 120_000)
