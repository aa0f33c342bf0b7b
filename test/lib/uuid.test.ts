import { expect, it } from 'vitest'
import { uuid } from '../../src/lib/uuid.ts'

it('a thousand ids are of version 4, and none comes twice', () => {
  const ids = Array.from({ length: 1000 }, uuid)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(1000)
})

it('each digit that is random takes each of its values', () => {
  const seen = Array.from({ length: 36 }, () => new Set<string>())
  for (let i = 0; i < 2000; i++) for (const [at, char] of [...uuid()].entries()) seen[at]?.add(char)
  const sizes = seen.map(({ size }) => size)
  expect(sizes.filter((size) => size === 16).length).toBe(30)
  expect([sizes[8], sizes[13], sizes[14], sizes[18], sizes[19], sizes[23]]).toEqual([1, 1, 1, 1, 4, 1])
})
