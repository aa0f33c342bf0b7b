import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createCache, endOf } from '../../src/lib/second-chance-cache.ts'

it('the cache holds a value until its end and not at it', () => {
  const cache = createCache<string>(10)
  cache.set('a', 'alice', 1000, 0)
  expect(cache.get('a', 999)).toBe('alice')
  expect(cache.get('a', 1000)).toBeUndefined()
  expect(cache.size).toBe(0)
})

it('the cache does not take a value that is over already, and forgets the older one', () => {
  const cache = createCache<string>(10)
  cache.set('a', 'alice', 1000, 0)
  cache.set('a', 'bob', 500, 500)
  expect(cache.size).toBe(0)
  expect(cache.get('a', 500)).toBeUndefined()
})

it('the cache holds nothing for longer because the clock was set back', () => {
  const cache = createCache<string>(10)
  cache.set('a', 'alice', 101_000, 100_000)
  expect(cache.get('a', 40_000)).toBeUndefined()
})

it('the cache keeps what is used when it must let one go', () => {
  const cache = createCache<string>(3)
  for (const key of ['a', 'b', 'c']) cache.set(key, key, 1000, 0)
  cache.get('a', 1)
  cache.set('d', 'd', 1000, 2)
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key, 3))).toEqual(['a', undefined, 'c', 'd'])
})

it('the cache lets one go whose time is over before one that is good, however much it was used', () => {
  const cache = createCache<string>(2)
  cache.set('over', 'over', 10, 0)
  cache.set('good', 'good', 1000, 0)
  cache.get('over', 9)
  cache.set('new', 'new', 1000, 10)
  expect(['good', 'new'].map((key) => cache.get(key, 11))).toEqual(['good', 'new'])
})

it('the cache remembers nothing if it has no room', () => {
  const cache = createCache<string>(0)
  cache.set('a', 'alice', 1000, 0)
  expect(cache.get('a', 1)).toBeUndefined()
})

it('the cache by the end of its keys gives no value of a key that ends as another, and the later one pushes the earlier one out', () => {
  const cache = createCache<string>(10, endOf)
  cache.set('alice.signature', 'alice', 1000, 0)
  expect(cache.get('bob.signature', 1)).toBeUndefined()
  cache.delete('bob.signature')
  expect(cache.get('alice.signature', 1)).toBe('alice')
  cache.set('bob.signature', 'bob', 1000, 2)
  expect(['alice.signature', 'bob.signature'].map((key) => cache.get(key, 3))).toEqual([undefined, 'bob'])
})

it('the cache never holds more than it may, nor gives a wrong or ended value', () => {
  const step = fc.record({
    key: fc.constantFrom(...'abcdef', 'alice.signature', 'bob.signature'),
    life: fc.integer({ min: -2, max: 20 }),
    read: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(undefined, endOf),
      fc.array(step, { maxLength: 100 }),
      (max, placeOf, steps) => {
        const cache = createCache<number>(max, placeOf)
        const ends = new Map<string, number>()
        steps.forEach(({ key, life, read }, now) => {
          if (!read) {
            cache.set(key, now + life, now + life, now)
            ends.set(key, now + life)
          }
          const value = cache.get(key, now)
          if (value !== undefined) expect(value).toBe(ends.get(key))
          if (value !== undefined) expect(value).toBeGreaterThan(now)
          expect(cache.size).toBeLessThanOrEqual(max)
        })
      },
    ),
  )
}, 60_000)
