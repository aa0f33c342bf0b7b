import { afterEach, expect, test } from 'vitest'
import type { Tally } from '../../src/failures/histogram.ts'
import { createFailureRecorder, type FailureRecorder } from '../../src/failures/recorder.ts'
import { UNCHARGED } from '../../src/failures/voices.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { request } from '../observe/request.ts'

let keeper: FailureRecorder
afterEach(() => keeper.close())

function start(addTally: (tally: Tally) => Promise<void>, flushMs = 60_000) {
  const observed: Observation[] = []
  keeper = createFailureRecorder({ store: { addTally }, flushMs, observe: (o) => observed.push(o) })
  return observed
}

test('forwarded requests are counted, failed ones and server errors apart', async () => {
  const added: Tally[] = []
  start(async (tally) => void added.push(tally))
  for (const changes of [
    {},
    { httpStatus: 404, clientStatus: 404 },
    { httpStatus: 500, clientStatus: 500 },
    { httpStatus: 599, clientStatus: 599 },
    { httpStatus: 0, outcome: 'failed', clientStatus: 502 },
    { httpStatus: 0, outcome: 'aborted', clientStatus: 499 },
    { httpStatus: 500, outcome: 'aborted', clientStatus: 499 },
    { httpStatus: null, outcome: 'refused', clientStatus: 429 },
    { httpStatus: null, outcome: 'denied', clientStatus: 503 },
  ] as const)
    keeper.observer(request(changes))
  keeper.observer({ type: 'stopped' })
  await keeper.close()
  expect(added).toMatchObject([{ total: 7, status0: 1, status5xx: 2, status4xx: 1 }])
})

test('those that the adaptive mode does not hear are in the sum, and counted aside too', async () => {
  const added: Tally[] = []
  start(async (tally) => void added.push(tally))
  for (const changes of [
    { voice: 'alice', httpStatus: 503 },
    { voice: 'bob', httpStatus: 500 },
    // Two others failed.
    { voice: 'carol', httpStatus: 500 },
    { voice: 'dave', httpStatus: 0, outcome: 'failed' },
    { voice: null },
    { voice: null, httpStatus: 503 },
    { voice: null, httpStatus: 0, outcome: 'failed' },
    { voice: null, httpStatus: 500, outcome: 'aborted' },
    { voice: 'refused', httpStatus: null, outcome: 'refused' },
    { voice: 'left', httpStatus: 500, outcome: 'aborted' },
    // All that costs nothing is one voice, which is heard three times at once.
    { voice: UNCHARGED, cost: 0 },
    { voice: UNCHARGED, cost: 0 },
    { voice: UNCHARGED, shadowed: true },
    { voice: UNCHARGED, cost: 0 },
  ] as const)
    keeper.observer(request(changes))
  await keeper.close()
  expect(added).toEqual([{ total: 13, status0: 2, status5xx: 4, status4xx: 0, aside: 7, asideFailed: 4 }])
})

test('the sum goes to the store on its own, and nothing goes while there is nothing', async () => {
  const added: Tally[] = []
  start(async (tally) => void added.push(tally), 5)
  keeper.observer(request())
  keeper.observer(request())
  await expect.poll(() => added).toMatchObject([{ total: 2, status0: 0, status5xx: 0 }])
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(added).toHaveLength(1)
})

test('one call is under way at a time, and what comes meanwhile goes with the next', async () => {
  const added: number[] = []
  let calls = 0
  let most = 0
  const gate = Promise.withResolvers<void>()
  start(async ({ total }) => {
    most = Math.max(most, ++calls)
    await gate.promise
    calls--
    added.push(total)
  }, 2)
  keeper.observer(request())
  await expect.poll(() => calls).toBe(1)
  for (let i = 0; i < 5; i++) keeper.observer(request())
  await new Promise((resolve) => setTimeout(resolve, 20))
  gate.resolve()
  await keeper.close()
  expect([most, added]).toEqual([1, [1, 5]])
})

test('a tally that was certainly not applied is kept and sent again', async () => {
  const added: Tally[] = []
  let fail = true
  const observed = start(async (tally) => {
    if (fail) throw new StoreError('refused', 'connection', 'no')
    added.push(tally)
  }, 2)
  keeper.observer(request({ httpStatus: 500 }))
  await expect.poll(() => observed.length).toBeGreaterThan(1)
  fail = false
  await expect.poll(() => added).toMatchObject([{ total: 1, status0: 0, status5xx: 1 }])
  expect(observed[0]).toEqual({ type: 'store_failed', operation: 'tally', reason: 'connection', message: 'refused' })
})

test('what was counted while the store was out comes with its age, minute by minute, when it is back', async () => {
  const added: [total: number, agoMs: number | undefined][] = []
  let [fail, clock, tries] = [true, 0, 0]
  keeper = createFailureRecorder({
    store: {
      async addTally({ total }, agoMs) {
        tries++
        if (fail) throw new StoreError('refused', 'connection', 'no')
        added.push([total, agoMs])
      },
    },
    flushMs: 2,
    observe: () => {},
    now: () => clock,
  })
  const countAt = async (at: number): Promise<void> => {
    clock = at
    keeper.observer(request({ httpStatus: 500 }))
    const before = tries
    // The second of them began after this was counted.
    await expect.poll(() => tries).toBeGreaterThan(before + 1)
  }
  // Older than all that the store keeps, by the end.
  await countAt(-7 * 24 * 3_600_000)
  await countAt(0)
  await countAt(59_999)
  await countAt(60_000)
  await countAt(2 * 3_600_000)
  clock += 1000
  fail = false
  await expect.poll(() => added).toHaveLength(3)
  expect(added).toEqual([
    [2, 7_201_000],
    [1, 7_141_000],
    [1, 1000],
  ])
})

test('a tally that may have been applied is dropped, lest it count twice, and observed', async () => {
  const added: number[] = []
  let first = true
  const observed = start(async ({ total }) => {
    if (first) {
      first = false
      throw new StoreError('lost', 'timeout', 'unknown')
    }
    added.push(total)
  }, 2)
  keeper.observer(request())
  await expect.poll(() => observed).toHaveLength(1)
  keeper.observer(request())
  await keeper.close()
  expect(added).toEqual([1])
})

test('an error of another kind is an internal one, and ends nothing', async () => {
  const error = new TypeError('bug')
  const observed = start(() => Promise.reject(error), 2)
  keeper.observer(request())
  await expect.poll(() => observed).toEqual([{ type: 'internal_error', where: 'tally', error }])
})

test('closing while the store is down does not reject, and nothing is sent after it', async () => {
  const observed = start(() => Promise.reject(new StoreError('down', 'connection', 'no')), 10)
  keeper.observer(request())
  await expect(keeper.close()).resolves.toBeUndefined()
  const { length } = observed
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(observed).toHaveLength(length)
})
