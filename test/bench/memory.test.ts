import { expect, test } from 'vitest'
import { cycle, memoryStep, walk } from '../../bench/memory.ts'

test('the way through memory meets each line once and ends where it began', () => {
  const lines = 1000
  const next = cycle(lines)
  const met = new Set(Array.from({ length: lines }, (_, steps) => walk(next, 0, steps)))
  expect(met.size).toBe(lines)
  expect(walk(next, 0, lines)).toBe(0)
})

test('a step through memory takes some time', () => {
  expect(memoryStep()).toBeGreaterThan(0)
})
