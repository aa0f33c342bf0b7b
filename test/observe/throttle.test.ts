import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createOrderedThrottle, createThrottle, type Throttle } from '../../src/observe/throttle.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function start() {
  const told: string[] = []
  return { told, throttle: createThrottle<string>(10_000, (latest, count) => told.push(`${latest} x${count}`)) }
}

test('the first is reported at once, and those of the interval after it as one with their count', () => {
  const { told, throttle } = start()
  for (let i = 1; i <= 500; i++) throttle.add('timeout', `timeout ${i}`)
  expect(told).toEqual(['timeout 1 x1'])
  vi.advanceTimersByTime(10_000)
  expect(told).toEqual(['timeout 1 x1', 'timeout 500 x499'])
})

test('keys do not share an interval', () => {
  const { told, throttle } = start()
  throttle.add('a', 'a')
  throttle.add('b', 'b')
  expect(told).toEqual(['a x1', 'b x1'])
})

test('keys beyond so many at a time are not reported, until one was quiet', () => {
  const told: string[] = []
  const throttle = createThrottle<string>(10_000, (latest, count) => told.push(`${latest} x${count}`), 2)
  for (const key of ['a', 'b', 'c', 'a']) throttle.add(key, key)
  expect(told).toEqual(['a x1', 'b x1'])
  vi.advanceTimersByTime(10_000)
  expect(told).toEqual(['a x1', 'b x1', 'a x1'])
  throttle.add('c', 'c')
  expect(told.at(-1)).toBe('c x1')
})

test('after a quiet interval the next is reported at once again', () => {
  const { told, throttle } = start()
  throttle.add('a', 'first')
  vi.advanceTimersByTime(10_000)
  throttle.add('a', 'second')
  expect(told).toEqual(['first x1', 'second x1'])
  expect(vi.getTimerCount()).toBe(1)
})

test('while it goes on there is one line for each interval', () => {
  const { told, throttle } = start()
  for (let s = 0; s < 30; s++) {
    throttle.add('a', 'a')
    vi.advanceTimersByTime(1000)
  }
  expect(told).toEqual(['a x1', 'a x9', 'a x10', 'a x10'])
})

test('closing reports what waits and leaves no timer', () => {
  const { told, throttle } = start()
  throttle.add('a', 'one')
  throttle.add('a', 'two')
  throttle.close()
  throttle.close()
  expect(told).toEqual(['one x1', 'two x1'])
  expect(vi.getTimerCount()).toBe(0)
})

describe('in order', () => {
  let told: string[]
  let throttle: Throttle<string>
  beforeEach(() => {
    told = []
    const tell = (latest: string, count: number) => told.push(`${latest} x${count}`)
    throttle = createOrderedThrottle<string>(10_000, tell, (it) => it.startsWith('failure'))
  })
  const add = (...all: string[]) => {
    for (const it of all) throttle.add(it, it)
  }

  test('what waits of all keys is reported together, the latest last, and before a key that is new', () => {
    add('out', 'back', 'out', 'back', 'out', 'settled', 'back')
    expect(told.splice(0)).toEqual(['out x1', 'back x1', 'back x1', 'out x2', 'settled x1'])
    vi.advanceTimersByTime(10_000)
    expect(told.splice(0)).toEqual(['back x1'])
    add('out')
    expect(told.splice(0)).toEqual(['out x1'])
    vi.advanceTimersByTime(20_000)
    expect([told, vi.getTimerCount()]).toEqual([[], 0])
    add('back', 'back')
    throttle.close()
    expect([told.splice(0), vi.getTimerCount()]).toEqual([['back x1', 'back x1'], 0])
    add('back')
    expect(told).toEqual(['back x1'])
    throttle.close()
  })

  test('what comes again after a quiet time is reported together again', () => {
    add('out')
    vi.advanceTimersByTime(20_000)
    add('out', 'out', 'out')
    vi.advanceTimersByTime(10_000)
    expect(told).toEqual(['out x1', 'out x1', 'out x2'])
  })

  test('what may be reported out of order waits for the end of the interval, or for what may not', () => {
    add('failure 1', 'failure 1', 'failure 2', 'failure 2', 'failure 2', 'failure 3')
    expect(told.splice(0)).toEqual(['failure 1 x1', 'failure 2 x1', 'failure 3 x1'])
    add('out')
    expect(told.splice(0)).toEqual(['failure 1 x1', 'failure 2 x2', 'out x1'])
    add('out', 'failure 4')
    expect(told.splice(0)).toEqual(['out x1', 'failure 4 x1'])
  })
})
