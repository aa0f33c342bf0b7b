import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createEventLoopDelay, type EventLoopDelay } from '../../src/lib/event-loop-delay.ts'

let delay: EventLoopDelay
beforeEach(() => {
  delay = createEventLoopDelay()
})
afterEach(() => {
  delay.stop()
  vi.useRealTimers()
})

/** Holds the event loop up for so long, again and again, until the condition is met. */
async function holdUp(ms: number, condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    if (turns > 1000) throw new Error('it never came to pass')
    const until = performance.now() + ms
    while (performance.now() < until);
    await sleep(1)
  }
}

it('a loop that is held up again and again lags, until it is let go', async () => {
  await holdUp(200, () => delay.lasting() > 50)
  await holdUp(0, () => delay.lasting() < 50)
})

it('one long pause is over when it is seen, and is no lag', async () => {
  const until = performance.now() + 1500
  while (performance.now() < until);
  let most = 0
  for (let looks = 0; looks < 20; looks++) {
    await sleep(20)
    most = Math.max(most, delay.lasting())
  }
  expect(most).toBeLessThan(1000)
})

it('the figures are those of the samples since they were taken last, or else the last ones', async () => {
  await holdUp(100, () => delay.lasting() > 20)
  const { min, max, mean, p50, p99 } = delay.takeFigures()
  expect(max).toBeGreaterThan(0.02)
  expect(min).toBeLessThanOrEqual(p50)
  expect(p50).toBeLessThanOrEqual(p99)
  expect(p99).toBeLessThanOrEqual(max)
  expect(mean).toBeLessThanOrEqual(max)
  expect(delay.takeFigures().max).toBe(max)
})

/**
 * How often a timer is set in so many milliseconds of a clock that is turned by hand. No spy: whoever restores all mocks later, in a file
 * that shares this process, would bring the clock back that stands still.
 */
function wakeUps(ms: number): number {
  const set = globalThis.setTimeout
  let count = 0
  const counted: typeof setTimeout = Object.assign((...args: Parameters<typeof set>) => {
    count++
    return set(...args)
  }, set)
  globalThis.setTimeout = counted
  vi.advanceTimersByTime(ms)
  globalThis.setTimeout = set
  return count
}

it('a process that rests is woken once a second, and one with requests as often as overload asks for', () => {
  delay.stop()
  vi.useFakeTimers()
  delay = createEventLoopDelay()
  expect(wakeUps(1000)).toBe(20)
  vi.advanceTimersByTime(1000)
  expect(wakeUps(10_000)).toBe(10)
  delay.lasting()
  expect(wakeUps(10_000)).toBe(10)
  delay.ofRequest()
  expect(wakeUps(1000)).toBe(20)
})

it('a process that rests and is late once is looked at often only as long as it takes to see whether that lasts', () => {
  delay.stop()
  vi.useFakeTimers()
  delay = createEventLoopDelay()
  vi.advanceTimersByTime(5000)
  const late = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 1050)
  vi.advanceTimersByTime(1000)
  late.mockRestore()
  expect(wakeUps(1000)).toBeLessThan(7)
  expect(wakeUps(10_000)).toBe(10)
})
