import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createOutageLines, type StillOut } from '../../src/observe/outage-lines.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('each outage is reported with its own reason, time and charges', () => {
  const told: StillOut[] = []
  const outage = createOutageLines(1000, (stillOut) => told.push(stillOut))
  outage.begin('timeout')
  outage.count('accepted')
  vi.advanceTimersByTime(900)
  outage.end()
  vi.advanceTimersByTime(5000)
  expect(told).toEqual([])

  outage.begin('connection')
  outage.count('refused')
  vi.advanceTimersByTime(1000)
  expect(told).toEqual([
    { reason: 'connection', outMs: 1000, policy: {}, charges: { accepted: 0, refused: 1, unable: 0 } },
  ])
})

test('a store that takes the place of one that is out, and is out as well, has the lines to itself', () => {
  const reasons: string[] = []
  const outage = createOutageLines(1000, ({ reason }) => reasons.push(reason))
  outage.begin('timeout')
  outage.begin('connection')
  vi.advanceTimersByTime(2000)
  expect(reasons).toEqual(['connection', 'connection'])
})

test('an outage that goes on for another reason is reported with the one of now', () => {
  const reasons: string[] = []
  const outage = createOutageLines(1000, ({ reason }) => reasons.push(reason))
  outage.begin('connection')
  vi.advanceTimersByTime(1000)
  outage.goOn('readonly')
  vi.advanceTimersByTime(1000)
  outage.end()
  outage.begin('timeout')
  vi.advanceTimersByTime(1000)
  expect(reasons).toEqual(['connection', 'readonly', 'timeout'])
})
