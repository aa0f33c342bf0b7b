import { expect, test } from 'vitest'
import { onDemand, remembered } from '../../src/lib/memo.ts'

function counting() {
  const asked: string[] = []
  const ask = remembered((text) => {
    asked.push(text)
    return text.toUpperCase()
  })
  return { ask, asked }
}

test('a text is asked for once', () => {
  const { ask, asked } = counting()
  expect([ask('a'), ask('b'), ask('a')]).toEqual(['A', 'B', 'A'])
  expect(asked).toEqual(['a', 'b'])
})

test('what is remembered is bounded, however many texts come and however long they are', () => {
  const { ask, asked } = counting()
  for (let i = 0; i < 3000; i++) ask(`name-${i}`)
  asked.length = 0
  for (let i = 0; i < 3000; i++) ask(`name-${i}`)
  expect(asked).toHaveLength(3000)

  asked.length = 0
  const long = 'x'.repeat(101)
  expect([ask(long), ask(long)]).toEqual([long.toUpperCase(), long.toUpperCase()])
  expect(asked).toHaveLength(2)
})

test('what is loaded on demand is loaded once, and again after it failed', async () => {
  let loads = 0
  const value = onDemand(async () => {
    if (++loads === 1) throw new Error('too many open files')
    return loads
  })
  await expect(Promise.all([value(), value()])).rejects.toThrow('too many open files')
  expect(await Promise.all([value(), value()])).toEqual([2, 2])
})
