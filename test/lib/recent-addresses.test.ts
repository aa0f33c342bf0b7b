import { expect, it } from 'vitest'
import { RecentAddresses } from '../../src/lib/recent-addresses.ts'

let at = 0

const remembering = (most: number): RecentAddresses => new RecentAddresses(1000, most, () => at)

it('an address is remembered for one period at least, and for two at most', () => {
  const recent = remembering(10)
  recent.add('192.0.2.1')
  at += 999
  recent.add('192.0.2.2')
  at += 1000
  expect([recent.has('192.0.2.1'), recent.has('192.0.2.2')]).toEqual([true, true])
  at += 1000
  expect([recent.has('192.0.2.1'), recent.has('192.0.2.2')]).toEqual([false, false])
})

it('an address that comes again is remembered from then on', () => {
  const recent = remembering(10)
  recent.add('192.0.2.1')
  at += 1500
  recent.add('192.0.2.1')
  at += 1500
  expect([recent.has('192.0.2.1'), recent.size]).toEqual([true, 1])
})

it('an address that comes in each period counts once', () => {
  const recent = remembering(10)
  recent.add('192.0.2.1')
  at += 1000
  recent.add('192.0.2.1')
  recent.add('192.0.2.2')
  expect(recent.size).toBe(2)
})

it('the last ones of a hundred thousand addresses in one period are remembered, twice as many as may come at most', () => {
  const recent = remembering(1000)
  for (let i = 0; i < 100_000; i++) recent.add(`${i}`)
  expect(recent.size).toBeLessThanOrEqual(2000)
  expect([recent.has('99000'), recent.has('0')]).toEqual([true, false])
})

it('nobody is remembered when nobody has come for two periods', () => {
  const recent = remembering(1000)
  for (let i = 0; i < 100; i++) recent.add(`${i}`)
  at += 2000
  expect(recent.size).toBe(0)
  expect(recent.has('0')).toBe(false)
})
