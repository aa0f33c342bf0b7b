import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createTimeline } from '../../../chart/simai/timeline.ts'

/** A fraction without rounding. */
interface Exact {
  readonly top: bigint
  readonly bottom: bigint
}

function add(a: Exact, b: Exact): Exact {
  return reduced(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom)
}

function reduced(top: bigint, bottom: bigint): Exact {
  let [x, y] = [top, bottom]
  while (y !== 0n) [x, y] = [y, x % y]
  return x === 0n ? { top: 0n, bottom: 1n } : { top: top / x, bottom: bottom / x }
}

/** How far a double is from the exact value, in units of the double's own precision. */
function error(value: number, exact: Exact): number {
  const scaled = BigInt(Math.round(value * 2 ** 40)) // enough for what is compared below
  const difference = scaled * exact.bottom - exact.top * 2n ** 40n
  return Number(difference) / Number(exact.bottom) / 2 ** 40
}

const change = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ divide: fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 384) }),
  },
  { weight: 1, arbitrary: fc.record({ tempo: fc.integer({ min: 1, max: 999 }) }) },
  { weight: 1, arbitrary: fc.record({ every: fc.integer({ min: 1, max: 900 }) }) },
)
const stretch = fc.record({ change, steps: fc.integer({ min: 0, max: 400 }) })

it('the time of a comma is exact to a few roundings after thousands of them', () => {
  fc.assert(
    fc.property(fc.array(stretch, { maxLength: 60 }), (stretches) => {
      const timeline = createTimeline()
      timeline.tempo(150)
      let [bpm, divisor, fixed]: [number, number, number | null] = [150, 4, null]
      let exact: Exact = { top: 0n, bottom: 1n }
      for (const { change: made, steps } of stretches) {
        if ('divide' in made) {
          timeline.divide(made.divide)
          divisor = made.divide
          fixed = null
        } else if ('tempo' in made) {
          timeline.tempo(made.tempo)
          bpm = made.tempo
        } else {
          timeline.every(made.every / 1024)
          fixed = made.every
        }
        for (let i = 0; i < steps; i++) {
          timeline.step()
          exact = add(exact, fixed === null ? reduced(240n, BigInt(bpm * divisor)) : reduced(BigInt(fixed), 1024n))
        }
        // 2^-40 s is what the comparison itself rounds; a double of an hour has 2^-41.
        const tolerance = 2 ** -39 + timeline.now() * 2 ** -50
        expect(Math.abs(error(timeline.now(), exact))).toBeLessThan(tolerance)
      }
    }),
    { numRuns: 60 },
  )
})

it('the time of a comma is that of the n-th comma as one division gives it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 384 }),
      fc.integer({ min: 0, max: 20_000 }),
      (bpm, divisor, n) => {
        const timeline = createTimeline()
        timeline.tempo(bpm)
        timeline.divide(divisor)
        for (let i = 0; i < n; i++) timeline.step()
        expect(timeline.now()).toBe((n * 240) / (divisor * bpm))
      },
    ),
    { numRuns: 100 },
  )
})

it('the time of a comma is no other if the length changes to and fro', () => {
  const timeline = createTimeline()
  timeline.tempo(180)
  for (let bar = 0; bar < 3000; bar++) {
    // A bar of 1 1/3 seconds, in thirds, sixteenths and eighths.
    for (const [divisor, steps] of [
      [12, 3],
      [16, 4],
      [24, 6],
      [8, 2],
    ] as const) {
      timeline.divide(divisor)
      for (let i = 0; i < steps; i++) timeline.step()
    }
    expect(timeline.now()).toBe(((bar + 1) * 4) / 3)
  }
})

it('the time of a comma does not drift if the tempo changes at every comma', () => {
  const timeline = createTimeline()
  let exact: Exact = { top: 0n, bottom: 1n }
  for (let i = 0; i < 5000; i++) {
    const bpm = 100 + (i % 7)
    timeline.tempo(bpm)
    timeline.divide(16)
    timeline.step()
    exact = add(exact, reduced(15n, BigInt(bpm)))
  }
  expect(Math.abs(error(timeline.now(), exact))).toBeLessThan(2 ** -39)
})
