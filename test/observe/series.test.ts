import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Counts, Distribution } from '../../src/observe/series.ts'

test('counts are kept for each set of label values', () => {
  const counts = new Counts(['category', 'outcome'])
  counts.add('read\nforwarded')
  counts.add('read\nforwarded', 4)
  counts.add('write\nrefused')
  expect([...counts.series]).toEqual([
    { labels: { category: 'read', outcome: 'forwarded' }, value: { count: 5 } },
    { labels: { category: 'write', outcome: 'refused' }, value: { count: 1 } },
  ])
})

test('label values without end are counted as other beyond 500, and nothing is lost', () => {
  const counts = new Counts(['category', 'outcome'])
  for (let i = 0; i < 10_000; i++) counts.add(`category${i}\nforwarded`)
  const entries = [...counts.series]
  expect(entries).toHaveLength(501)
  expect(entries.at(-1)).toEqual({ labels: { category: 'other', outcome: 'other' }, value: { count: 9500 } })
})

test('a metric can have another bound than 500', () => {
  const counts = new Counts(['route'], 2)
  for (const route of ['a', 'b', 'c', 'd']) counts.add(route)
  expect([...counts.series].map(({ labels, value }) => [labels.route, value.count])).toEqual([
    ['a', 1],
    ['b', 1],
    ['other', 2],
  ])
})

test('a metric without labels is there before the first count', () => {
  expect([...new Counts().series]).toEqual([{ labels: {}, value: { count: 0 } }])
})

test('a value on a bound belongs to it, and one above them all to the rest', () => {
  const distribution = new Distribution([1, 2])
  for (const value of [0, 1, 1.5, 2, 2.5, 1000]) distribution.observe('', value)
  expect([...distribution.series]).toEqual([{ labels: {}, value: { sum: 1007, counts: [2, 2, 2] } }])
})

test('every value is in one bucket, whatever the values', () => {
  const bounds = [0.5, 1, 10, 100]
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 200, noNaN: true })), (values) => {
      const distribution = new Distribution(bounds)
      for (const value of values) distribution.observe('', value)
      const [entry] = [...distribution.series]
      const upTo = (n: number) => entry?.value.counts.slice(0, n).reduce((a, b) => a + b, 0)
      for (const [i, bound] of bounds.entries()) expect(upTo(i + 1)).toBe(values.filter((v) => v <= bound).length)
      expect(upTo(bounds.length + 1)).toBe(values.length)
    }),
  )
})
