import { expect, test } from 'vitest'
import { addedUp, createGuardTally, type GuardTally, trips } from '../../src/control/guard-tally.ts'

const BOUND = 0.05
const GUARD = { refused: BOUND }

function send(tally: GuardTally, caller: string, requests: number, refused = 0): void {
  for (let i = 0; i < requests; i++) tally.count(caller, i < refused)
}

/** So many callers, each of whom has sent as much. */
function crowd(tally: GuardTally, callers: number, requests: number, refused = 0): void {
  for (let i = 0; i < callers; i++) send(tally, `user-${i}`, requests, refused)
}

test('a guard trips if a tenth is refused to everybody, and not if a hundredth is', () => {
  const [bad, good] = [createGuardTally(), createGuardTally()]
  crowd(bad, 30, 100, 10)
  crowd(good, 30, 100, 1)
  expect(trips(bad.weighed(BOUND), GUARD)).toBe(true)
  expect(trips(good.weighed(BOUND), GUARD)).toBe(false)
})

test('a guard decides nothing by a few requests', () => {
  const tally = createGuardTally()
  crowd(tally, 20, 1, 1)
  expect(trips(tally.weighed(BOUND), GUARD)).toBe(false)
  crowd(tally, 20, 4, 4)
  expect(trips(tally.weighed(BOUND), GUARD)).toBe(true)
})

test.each([1, 2, 3, 5, 10, 100])('a guard is tripped by no caller alone, beside %d others', (others) => {
  const tally = createGuardTally()
  crowd(tally, others, 200)
  send(tally, 'loud', 100_000, 100_000)
  expect(trips(tally.weighed(BOUND), GUARD)).toBe(false)
})

test.each([2, 3, 4, 5, 8, 10, 100])('a guard is masked by no caller alone, if %d others are all refused', (others) => {
  const tally = createGuardTally()
  crowd(tally, others, 1000, 1000)
  send(tally, 'loud', 100_000)
  expect(trips(tally.weighed(BOUND), GUARD)).toBe(true)
})

test('a guard is masked by no flood of one caller whom nothing is refused', () => {
  const tally = createGuardTally()
  crowd(tally, 30, 100, 10)
  send(tally, 'loud', 200_000)
  expect(trips(tally.weighed(BOUND), GUARD)).toBe(true)
})

test('a guard counts one caller alone for nothing', () => {
  const tally = createGuardTally()
  send(tally, 'alice', 10_000, 10_000)
  expect(tally.weighed(BOUND)).toEqual({ requests: 0, refused: 0 })
})

test('a guard is tripped by no caller alone who comes by several processes', () => {
  const tallies = Array.from({ length: 4 }, createGuardTally)
  tallies.forEach((tally, i) => {
    crowd(tally, 3 + 10 * i, 50)
    send(tally, 'loud', 10_000, 10_000)
  })
  expect(trips(addedUp(tallies.map((tally) => tally.weighed(BOUND))), GUARD)).toBe(false)
})
