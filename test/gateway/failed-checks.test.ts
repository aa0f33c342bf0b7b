import { expect, it } from 'vitest'
import { createFailedChecks } from '../../src/gateway/failed-checks.ts'

let time = 0
const open = () => createFailedChecks(() => time)

it('an address may waste 200 ms of checks at once, and 50 ms a second from then on', () => {
  const failed = open()
  for (let i = 0; i < 200; i++) {
    expect(failed.wait('a')).toBe(0)
    failed.note('a', 10)
  }
  expect(failed.wait('a')).toBe(1)
  time += 2
  expect(failed.wait('a')).toBe(0)
  failed.note('a', 1)
  expect(failed.wait('a')).toBe(1)
  let more = 0
  for (const until = time + 1000; time <= until; time += 0.5) {
    if (failed.wait('a') > 0) continue
    failed.note('a', 1)
    more++
  }
  expect(more).toBe(500)
  time += 4000
  failed.note('a', 1999)
  expect(failed.wait('a')).toBe(0)
  failed.note('a', 1)
  expect(failed.wait('a')).toBe(1)
})

it('what one address does is no matter of another, nor of clients whose address is not known', () => {
  const failed = open()
  failed.note('a', 2000)
  failed.note(null, 2000)
  expect(failed.wait('a')).toBeGreaterThan(0)
  expect([failed.wait('b'), failed.wait(null)]).toEqual([0, 0])
})

it('checks that were under way together are not owed for longer than 2 seconds', () => {
  const failed = open()
  failed.note('a', 100_000)
  expect(failed.wait('a')).toBe(2)
  time += 1001
  expect(failed.wait('a')).toBe(1)
  time += 2
  expect(failed.wait('a')).toBe(0)
})

it('good credentials cost nothing', () => {
  const failed = open()
  for (let i = 0; i < 1000; i++) failed.note('a', 0)
  expect(failed.wait('a')).toBe(0)
})

it('10,000 addresses are remembered, and the one that failed longest ago is forgotten for another', () => {
  const failed = open()
  for (let i = 0; i < 10_000; i++) failed.note(`${i}`, 3000)
  failed.note('0', 1)
  failed.note('new', 3000)
  expect(failed.wait('0')).toBeGreaterThan(0)
  expect(failed.wait('1')).toBe(0)
  expect(failed.wait('2')).toBeGreaterThan(0)
})
