import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUCKET_MS } from '../../src/failures/histogram.ts'
import { createVoices } from '../../src/failures/voices.ts'

const MINUTE = 60_000

test('a user is heard once for every hundred charged requests of others, however many of them he sends', () => {
  const voices = createVoices(() => 0)
  let heard = 0
  for (let i = 0; i < 300; i++) voices.hear(`user ${i}`, true)
  for (let i = 0; i < 100_000; i++) if (voices.hear('mallory', true)) heard++
  expect(heard).toBe(3)
})

test('of a busy user requests are heard throughout, so that a failure in the middle of a half hour shows', () => {
  const voices = createVoices(() => 0)
  const heard: number[] = []
  for (let i = 1; i <= 1000; i++) {
    voices.hear('other', true)
    if (voices.hear('service', true)) heard.push(i)
  }
  expect(heard).toEqual(Array.from({ length: 10 }, (_, i) => (i + 1) * 100))
})

test('of many users nearly all are heard', () => {
  const voices = createVoices(() => 0)
  let heard = 0
  for (let i = 0; i < 10_000; i++) if (voices.hear(`user ${i % 500}`, true)) heard++
  expect(heard).toBeGreaterThan(9800)
})

test('free requests, and any number of addresses that send them, add nothing to what is heard of anybody', () => {
  const voices = createVoices(() => 0)
  for (let i = 0; i < 1000; i++) voices.hear(`user ${i}`, true)
  let heard = 0
  for (let i = 0; i < 100_000; i++) if (voices.hear('192.0.2.1', false)) heard++
  expect(heard).toBe(10)
  for (let i = 0; i < 1000; i++) voices.hear(`198.51.100.${i}`, false)
  expect(voices.hear('192.0.2.1', false)).toBe(false)
})

test('nobody is heard where nothing is charged', () => {
  const voices = createVoices(() => 0)
  expect(Array.from({ length: 1000 }, (_, i) => voices.hear(`203.0.113.${i}`, false))).not.toContain(true)
})

test('what was charged in the half hour before counts as far as it lies within 30 minutes, and so does who was heard', () => {
  let now = 0
  const voices = createVoices(() => now)
  const heardOf = (name: string, requests: number): number => {
    let heard = 0
    for (let i = 0; i < requests; i++) if (voices.hear(name, false)) heard++
    return heard
  }
  for (let i = 0; i < 1000; i++) voices.hear('service', true)
  expect(heardOf('192.0.2.1', 100)).toBe(10)
  now = 31 * MINUTE
  expect(heardOf('192.0.2.1', 100)).toBe(0)
  expect(heardOf('192.0.2.2', 100)).toBe(9)
  now = 45 * MINUTE
  expect(heardOf('192.0.2.3', 100)).toBe(5)
  now = 60 * MINUTE
  expect(heardOf('192.0.2.4', 100)).toBe(0)
})

test('a process that nobody asked for hours begins anew', () => {
  let now = 0
  const voices = createVoices(() => now)
  for (let i = 0; i < 1000; i++) voices.hear(`user ${i}`, true)
  now = 2 * BUCKET_MS + 1
  expect(voices.hear('mallory', true)).toBe(false)
})

test('whoever is heard has at most a hundredth of the charged requests of others, whatever all of them do', () => {
  const requests = fc.array(fc.record({ user: fc.nat(20), isCharged: fc.boolean() }), {
    minLength: 300,
    maxLength: 2000,
  })
  fc.assert(
    fc.property(requests, (all) => {
      const voices = createVoices(() => 0)
      const heard = new Map<number, number>()
      for (const { user, isCharged } of all) {
        if (voices.hear(String(user), isCharged)) heard.set(user, (heard.get(user) ?? 0) + 1)
      }
      const others = (user: number) => all.filter((each) => each.isCharged && each.user !== user).length
      for (const [user, count] of heard) expect(count * 100).toBeLessThanOrEqual(others(user))
    }),
    { numRuns: 50 },
  )
})
