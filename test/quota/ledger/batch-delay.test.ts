import { expect, it } from 'vitest'
import { createBatchDelay } from '../../../src/quota/ledger/batch-delay.ts'

/**
 * Lets so many charges come at once, and at each turn of the event loop that follows.
 * @param last how many the batch before held
 * @param turnMs how long a turn takes
 * @returns how many the batch holds
 */
async function batch(counts: readonly number[], { last = 0, turnMs = 0 } = {}): Promise<number> {
  let waiting = 0
  let time = 0
  const delay = createBatchDelay({ waiting: () => waiting, now: () => time })
  if (last > 0) delay.sent(last)
  const turn = ([count, ...rest]: readonly number[]): void => {
    if (count === undefined) return
    setImmediate(() => turn(rest))
    time += turnMs
    waiting += count
  }
  turn(counts)
  await delay.next()
  return waiting
}

const quiet = (turns: number): number[] => Array(turns).fill(0)

it('a batch goes out at the end of a turn that brings no more charges', async () => {
  expect(await batch([1, 0, 1])).toBe(1)
  expect(await batch([1, 1, 1, 0, 1])).toBe(3)
})

it('a batch goes out after four turns, whatever they bring', async () => {
  expect(await batch(Array(20).fill(1))).toBe(5)
})

it('a batch waits for eight turns without a new charge where it is small and the last one held several', async () => {
  expect(await batch([1, ...quiet(7), 1], { last: 2 })).toBe(2)
  expect(await batch([1, ...quiet(8), 1], { last: 2 })).toBe(1)
})

it('a batch does not wait so behind a single charge, nor where no charge waits', async () => {
  expect(await batch([1, 0, 1], { last: 1 })).toBe(1)
  expect(await batch([0, 0, 1], { last: 2 })).toBe(0)
})

it('a batch waits so for twenty turns at most', async () => {
  expect(await batch([1, ...Array(6).fill([0, 0, 1]).flat(), 1, 1, 1, 1], { last: 2 })).toBe(9)
})

it('a batch waits so no longer than it is small', async () => {
  expect(await batch([2, 0, 0, 0, 13, 0, 1], { last: 2 })).toBe(16)
  expect(await batch([2, 0, 0, 0, 14, 1], { last: 2 })).toBe(16)
})

it('a batch waits so for a millisecond at most, however few turns that is', async () => {
  expect(await batch([1, 0, 1], { last: 2, turnMs: 0.5 })).toBe(2)
  expect(await batch([1, 0, 0, 1], { last: 2, turnMs: 0.5 })).toBe(1)
})

it('a delay says whether a batch waits, and for how long one waited', async () => {
  let time = 0
  const delay = createBatchDelay({ waiting: () => 1, now: () => time })
  expect(delay.isUnderWay()).toBe(false)
  const next = delay.next()
  expect(delay.isUnderWay()).toBe(true)
  time = 7
  expect(await next).toBe(7)
  expect(delay.isUnderWay()).toBe(false)
})
