import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import type { Charge, Decision } from '../../../src/quota/charge.ts'
import { Queue } from '../../../src/quota/ledger/queue.ts'
import { abandon, resolveLocally } from '../../../src/quota/ledger/waiting-charge.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { queued } from './promised.ts'

const DEADLINE_MS = 10
const LIMITS = { personal: [], organisation: null, global: null }
const charge = (cost = 1): Charge => ({ user: 'alice', organisation: null, category: 'read', cost, limits: LIMITS })
const DECISION: Decision = { accepted: true, at: 1, personal: [], organisation: null, global: null }
const CLOSED = new StoreError('the ledger is closed', 'other', 'unknown')

let clock: number
let askedAt: number | null
let lastResponse: number
let roundTrip: number
let silences: number
let queue: Queue
beforeEach(() => {
  clock = 1000
  askedAt = 1000
  lastResponse = 1000
  roundTrip = 0
  silences = 0
  queue = new Queue({
    deadlineMs: DEADLINE_MS,
    askedAt: () => askedAt,
    lastResponse: () => lastResponse,
    roundTrip: () => roundTrip,
    onSilence: () => {
      silences++
      for (const waiting of queue.sent) abandon(waiting, CLOSED)
      for (const waiting of queue.takeAll()) abandon(waiting, CLOSED)
    },
    now: () => clock,
  })
})
/** What became of a charge. */
const outcome = (decision: Promise<Decision>): Promise<unknown> => decision.catch((error: unknown) => error)
/** Those of the charges that are settled by now. */
async function settled(decisions: readonly Promise<Decision>[]): Promise<boolean[]> {
  const marks = decisions.map(() => false)
  decisions.forEach((decision, i) => {
    const mark = (): void => {
      marks[i] = true
    }
    decision.then(mark, mark)
  })
  await sleep(5 * DEADLINE_MS)
  return marks
}
const costs = (list: readonly { charge: Charge }[]): number[] => list.map((waiting) => waiting.charge.cost)

it('a queue hands out its charges in the order of arrival, as many as a batch may hold', async () => {
  const decisions = [1, 2, 3].map((cost) => queued(queue, charge(cost)))
  expect(queue.length).toBe(3)
  expect(costs(queue.take(2))).toEqual([1, 2])
  expect([costs(queue.sent), queue.length]).toEqual([[1, 2], 1])
  for (const waiting of queue.sent) waiting.asker.decided(DECISION)
  queue.release()
  expect([costs(queue.sent), costs(queue.takeAll()), queue.length]).toEqual([[], [3], 0])
  expect(await Promise.all(decisions.slice(0, 2))).toEqual([DECISION, DECISION])
})

it('a queue wants its batch as long as one of its callers waits, and a batch without callers always', async () => {
  const decisions = [queued(queue, charge()), queued(queue, charge())].map(outcome)
  expect(queue.isBatchWanted()).toBe(true)
  const [first, second] = queue.take(10)
  if (first === undefined || second === undefined) throw new Error('two were to go out')
  resolveLocally(first, DECISION)
  expect(queue.isBatchWanted()).toBe(true)
  abandon(second, CLOSED)
  expect(queue.isBatchWanted()).toBe(false)
  queue.release()
  expect(queue.isBatchWanted()).toBe(true)
  expect(await Promise.all(decisions)).toEqual([DECISION, CLOSED])
})

it('a queue abandons all callers when it closes, of the batch under way too', async () => {
  const decisions = [queued(queue, charge()), queued(queue, charge())].map(outcome)
  queue.take(1)
  queue.close(CLOSED)
  expect(await Promise.all(decisions)).toEqual([CLOSED, CLOSED])
  expect(queue.length).toBe(0)
})

it.each([0, 1])('a deadline reports a silent store, if %d of two charges have gone out', async (sent) => {
  const decisions = [queued(queue, charge()), queued(queue, charge())].map(outcome)
  queue.take(sent)
  clock += DEADLINE_MS
  expect(await Promise.all(decisions)).toEqual([CLOSED, CLOSED])
  expect(silences).toBe(1)
})

it.each([0, 1])(
  'a deadline does not pass before its time, however often the timer looks, with %d charges sent',
  async (sent) => {
    const decision = queued(queue, charge())
    queue.take(sent)
    clock += DEADLINE_MS - 1
    expect(await settled([decision])).toEqual([false])
    clock += 1
    expect([await outcome(decision), silences]).toEqual([CLOSED, 1])
  },
)

it('a deadline counts from the last response while the store responds, up to four times its length', async () => {
  const decision = queued(queue, charge())
  for (let times = 0; times < 3; times++) {
    clock += DEADLINE_MS
    lastResponse = clock
    expect(await settled([decision])).toEqual([false])
  }
  clock += DEADLINE_MS
  lastResponse = clock
  expect(await outcome(decision)).toMatchObject({
    message: `the store did not decide within ${4 * DEADLINE_MS} ms`,
    reason: 'timeout',
  })
  expect(silences).toBe(0)
})

it.each([0, 1])(
  'a deadline passes a round trip later where the store is far away, with %d charges sent',
  async (sent) => {
    roundTrip = 3 * DEADLINE_MS
    const decision = queued(queue, charge())
    queue.take(sent)
    clock += 4 * DEADLINE_MS - 1
    expect(await settled([decision])).toEqual([false])
    clock += 1
    expect([await outcome(decision), silences]).toEqual([CLOSED, 1])
  },
)

it('a deadline that passes while the store responds ends only those charges that waited too long', async () => {
  const old = [queued(queue, charge()), queued(queue, charge())]
  queue.take(1)
  clock += 2 * DEADLINE_MS
  lastResponse = clock
  const young = queued(queue, charge())
  clock += 2 * DEADLINE_MS
  lastResponse = clock
  for (const decision of old) expect(await outcome(decision)).toMatchObject({ reason: 'timeout' })
  expect(await settled([young])).toEqual([false])
  expect([silences, queue.length, queue.sent.length]).toEqual([0, 1, 1])
  queue.close(CLOSED)
  expect(await outcome(young)).toBe(CLOSED)
})

it('a deadline does not pass while the batch waits: the store was not asked', async () => {
  askedAt = null
  const decision = queued(queue, charge())
  clock += 2 * DEADLINE_MS
  expect(await settled([decision])).toEqual([false])
  askedAt = clock
  expect([await outcome(decision), silences]).toEqual([CLOSED, 1])
})

it('a deadline is put off if this process was held up before it asked, by as long and to one length from now at most', async () => {
  const decision = queued(queue, charge())
  clock += 100
  queue.excuse(DEADLINE_MS / 4)
  queue.excuse(100)
  expect(await settled([decision])).toEqual([false])
  clock += DEADLINE_MS - 1
  expect(await settled([decision])).toEqual([false])
  clock += 1
  expect([await outcome(decision), silences]).toEqual([CLOSED, 1])
})

it('a deadline is not put off by the usual wait of a batch', async () => {
  const decision = queued(queue, charge())
  clock += DEADLINE_MS
  queue.excuse(DEADLINE_MS / 4 - 1)
  expect([await outcome(decision), silences]).toEqual([CLOSED, 1])
})

it('a deadline does not hold any more for a caller that has its verdict', async () => {
  const decision = queued(queue, charge())
  for (const waiting of queue.take(1)) resolveLocally(waiting, DECISION)
  clock += 10 * DEADLINE_MS
  expect([await settled([decision]), silences]).toEqual([[true], 0])
})
