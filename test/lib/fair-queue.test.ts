import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FairQueue } from '../../src/lib/fair-queue.ts'

const drain = <T>(queue: FairQueue<T>): T[] => {
  const all: T[] = []
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) all.push(item)
  return all
}

it('a fair queue gives each party one turn in each round, in the order in which they came', () => {
  const queue = new FairQueue<string>(100)
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) expect(queue.push(item.slice(0, 1), item)).toBe(null)
  expect(queue.size).toBe(6)
  expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  expect(queue.size).toBe(0)
})

it('a fair queue drops the last one of the party that has most for one that has fewer, and else the one that comes', () => {
  const queue = new FairQueue<string>(4)
  for (const item of ['a1', 'a2', 'a3', 'b1']) queue.push(item.slice(0, 1), item)
  expect(queue.push('a', 'a4')).toBe('a4')
  expect(queue.push('c', 'c1')).toBe('a3')
  expect(queue.push('b', 'b2')).toBe('b2')
  expect(queue.push('d', 'd1')).toBe('a2')
  expect(queue.push('e', 'e1')).toBe('e1')
  expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'd1'])
})

it('a fair queue forgets one that waits no longer', () => {
  const queue = new FairQueue<string>(2)
  queue.push('a', 'a1')
  queue.push('b', 'b1')
  queue.remove('a', 'a1')
  queue.remove('a', 'a1')
  expect(queue.push('c', 'c1')).toBe(null)
  expect(drain(queue)).toEqual(['b1', 'c1'])
})

it('a fair queue never has more than it may, and nobody in it waits for more than one turn of each other for each of its own', () => {
  const step = fc.oneof(fc.constant(null), fc.constantFrom('a', 'b', 'c', 'd', 'e'))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), fc.integer({ min: 1, max: 20 }), (steps, max) => {
      const queue = new FairQueue<{ party: string }>(max)
      const waiting: { party: string; passed: Map<string, number> }[] = []
      for (const party of steps) {
        if (party === null) {
          const next = queue.shift()
          expect(next === undefined).toBe(waiting.length === 0)
          if (next === undefined) continue
          waiting.splice(waiting.indexOf(next as never), 1)
          for (const { passed } of waiting) passed.set(next.party, (passed.get(next.party) ?? 0) + 1)
        } else {
          const item = { party, passed: new Map<string, number>() }
          const dropped = queue.push(party, item)
          if (dropped !== item) waiting.push(item)
          if (dropped !== null && dropped !== item) waiting.splice(waiting.indexOf(dropped as never), 1)
        }
        expect(queue.size).toBe(waiting.length)
        expect(queue.size).toBeLessThanOrEqual(max)
        for (const { party, passed } of waiting) {
          const ahead = (passed.get(party) ?? 0) + 1
          for (const [other, turns] of passed) if (other !== party) expect(turns).toBeLessThanOrEqual(ahead)
        }
      }
    }),
  )
}, 60_000)
