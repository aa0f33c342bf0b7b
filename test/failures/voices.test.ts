import { expect, test } from 'vitest'
import { ADAPTIVE, type Adaptive, adaptive } from '../../src/failures/adaptive.ts'
import { BUCKET_MS, type Bucket, bucketStart, NOTHING, plus } from '../../src/failures/histogram.ts'
import { createVoices } from '../../src/failures/voices.ts'

const MINUTE = 60_000

test('a user is heard three times at once and then once in four minutes, however many requests he and others send', () => {
  let now = 0
  const voices = createVoices(() => now)
  const heardAt: number[] = []
  for (; now < 30 * MINUTE; now += 1000) {
    voices.hear(`user ${now % 50}`, false)
    for (let i = 0; i < 10; i++) if (voices.hear('mallory', false)) heardAt.push(now / MINUTE)
  }
  expect(heardAt).toEqual([0, 0, 0, 4, 8, 12, 16, 20, 24, 28])
})

test('nearly all of many users are heard', () => {
  const voices = createVoices(() => 0)
  let heard = 0
  for (let i = 0; i < 1000; i++) if (voices.hear(`user ${i}`, false)) heard++
  expect(heard).toBeGreaterThan(980)
})

test('failures of one voice are not heard, and of several each as far as others fail twice as often', () => {
  const voices = createVoices(() => 0)
  expect([1, 2, 3].map(() => voices.hear('alice', true))).toEqual([false, false, false])
  // Of others there are three failures, which is enough for one.
  expect([1, 2, 3].map(() => voices.hear('bob', true))).toEqual([true, false, false])
  expect([1, 2, 3].map(() => voices.hear('carol', true))).toEqual([true, true, true])
})

test('failures of others are forgotten after a half hour, little by little, and at once where nobody asked for hours', () => {
  let now = 0
  const voices = createVoices(() => now)
  for (const user of ['a', 'b', 'c', 'd']) voices.hear(user, true)
  now = 36 * MINUTE
  expect([1, 2].map(() => voices.hear('alice', true))).toEqual([true, false])
  now = 3 * BUCKET_MS
  expect(voices.hear('bob', true)).toBe(false)
})

interface Sending {
  readonly user: string
  readonly requests: number
  readonly failed: (i: number) => boolean
}

/** Two half hours, each with requests at even distances. @returns the factor at the end of each minute */
function factors(sending: (half: number) => readonly Sending[]): Adaptive[] {
  let now = 0
  const voices = createVoices(() => now)
  const buckets = new Map<number, Bucket>()
  const drawn: Adaptive[] = []
  for (const half of [0, 1]) {
    const from = half * BUCKET_MS
    const requests = sending(half).flatMap(({ user, requests, failed }, who) =>
      Array.from({ length: requests }, (_, i) => ({
        at: from + ((i + (who % 7) / 7) * BUCKET_MS) / requests,
        user,
        failed: failed(i),
      })),
    )
    requests.sort((a, b) => a.at - b.at)
    for (let next = 0, minute = 1; minute <= 30; minute++) {
      for (; next < requests.length && (requests[next]?.at ?? 0) < from + minute * MINUTE; next++) {
        const { at, user, failed } = requests[next] as (typeof requests)[number]
        now = at
        if (!voices.hear(user, failed)) continue
        const start = bucketStart(at)
        const old = buckets.get(start) ?? { start, ...NOTHING }
        buckets.set(start, { start, ...plus(old, { ...NOTHING, total: 1, status5xx: failed ? 1 : 0 }) })
      }
      drawn.push(adaptive({ buckets: [...buckets.values()], at: from + minute * MINUTE - 1 }))
    }
  }
  return drawn
}

const users = (count: number, failed: Sending['failed']): Sending[] =>
  Array.from({ length: count }, (_, i) => ({ user: `user ${i}`, requests: 300, failed }))
const never = () => false
const always = () => true

const ATTACKS: [string, Sending['failed'], number][] = [
  ['60 failing', always, 60],
  ['10000 failing', always, 10_000],
  ['10000 good', never, 10_000],
  ['2000 requests of which each second one fails', (i) => i % 2 === 0, 2000],
]

test.each([5, 10, 20, 50, 200, 1000])(
  'the factor that is drawn from what is heard moves by 0.05 at most for what one sends beside %d users',
  (count) => {
    const before = factors(() => users(count, never))
    for (const [title, failed, requests] of ATTACKS) {
      const after = factors(() => [...users(count, never), { user: 'mallory', requests, failed }])
      const most = Math.max(...after.map(({ factor }, i) => Math.abs(factor - (before[i]?.factor ?? 0))))
      expect(Math.round(most * 100) / 100, title).toBeLessThanOrEqual(0.05)
    }
  },
  60_000,
)

test.each([30, 50, 200, 1000])(
  'the factor that is drawn from what is heard falls to its least within the half hour where half fails for all of %d users',
  (count) => {
    const drawn = factors((half) => users(count, half === 0 ? never : (i) => i % 2 === 0))
    expect(drawn[29]?.factor).toBe(ADAPTIVE.max)
    expect(drawn.at(-1)?.factor).toBe(ADAPTIVE.min)
  },
  60_000,
)

test('the factor that is drawn from what is heard says nothing where there are few users', () => {
  expect(factors(() => users(5, always)).every(({ factor }) => factor === 1)).toBe(true)
})
