import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { repeat } from '../../src/lib/repeat.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Notes the moments of a work that repeats until the test is over. */
function moments(everyMs: number, act: () => void = () => {}): number[] {
  const noted: number[] = []
  const stop = repeat(() => {
    noted.push(performance.now())
    act()
  }, everyMs)
  onTestFinished(stop)
  return noted
}

it('works that begin at different moments come in one turn, each in its interval', () => {
  vi.advanceTimersByTime(300)
  const [first, second] = [moments(1000), moments(2000)]
  vi.advanceTimersByTime(450)
  const third = moments(1000)
  vi.advanceTimersByTime(3500)
  expect(first).toHaveLength(4)
  expect(third).toEqual(first)
  expect(second).toHaveLength(2)
  expect(first).toEqual(expect.arrayContaining(second))
})

it('a work that is ended does not come again, and the others go on', () => {
  const other = moments(1000)
  let count = 0
  const stop = repeat(() => count++, 1000)
  vi.advanceTimersByTime(2000)
  stop()
  vi.advanceTimersByTime(2000)
  expect(count).toBe(2)
  expect(other).toHaveLength(4)
})

it('one work may end another that is due in the same turn', () => {
  const stops: (() => void)[] = []
  moments(1000, () => stops[0]?.())
  let count = 0
  stops.push(repeat(() => count++, 1000))
  vi.advanceTimersByTime(3000)
  expect(count).toBe(0)
})

it('a work that throws keeps none from coming again', () => {
  const noted = moments(1000, () => {
    if (noted.length === 1) throw new Error('once')
  })
  expect(() => vi.advanceTimersByTime(1000)).toThrow('once')
  vi.advanceTimersByTime(2000)
  expect(noted).toHaveLength(3)
})

it('a work is told how late it comes, and what was missed is not made up for', () => {
  const late: number[] = []
  onTestFinished(repeat((ms) => late.push(ms), 1000))
  vi.advanceTimersByTime(1000)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3200)
  vi.advanceTimersByTime(1000)
  clock.mockRestore()
  expect(late).toHaveLength(2)
  expect(late[0]).toBeLessThan(2)
  expect(late[1]).toBeGreaterThan(2000)
})
