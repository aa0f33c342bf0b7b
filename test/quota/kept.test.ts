import { expect, it } from 'vitest'
import { NO_RETENTION, type Retention } from '../../src/quota/history.ts'
import type { KeptStates } from '../../src/quota/history-store.ts'
import { keptChanges } from '../../src/quota/kept.ts'

const MINUTE = 60_000
const DAY_SECONDS = 86_400
const keep = (days: number): Retention => ({ ...NO_RETENTION, longestSeconds: days * DAY_SECONDS })

/** What a store knows after somebody has said it. */
function after(before: KeptStates, days: number, at: number, isAnew: boolean): KeptStates {
  return new Map([...before, ...keptChanges(before, keep(days), at, isAnew)])
}
const daysIn = (states: KeptStates): number => (states.get('longest')?.keptSeconds ?? 0) / DAY_SECONDS

it('a longer time of a process that began with it long ago holds an hour after another process kept less', () => {
  let states = after(after(new Map(), 35, 0, true), 7, MINUTE, true)
  for (let minute = 2; minute < 61; minute++) states = after(states, 35, minute * MINUTE, false)
  expect(daysIn(states)).toBe(7)
  states = after(states, 35, 61 * MINUTE, false)
  expect(daysIn(states)).toBe(35)
  expect(states.get('longest')?.leastSeconds).toBe(7 * DAY_SECONDS)
})

it('a shorter time holds at once, whoever says it', () => {
  const states = after(after(new Map(), 35, 0, true), 7, MINUTE, false)
  expect(daysIn(states)).toBe(7)
})
