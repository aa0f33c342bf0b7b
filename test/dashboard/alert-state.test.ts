import { expect, test } from 'vitest'
import type { AlertsResponse } from '../../src/contract/api.ts'
import { alertStates } from '../../src/dashboard/logic/alert-state.ts'

const NOW = Date.parse('2026-11-27T09:40:00Z')

type AlertEvent = AlertsResponse['events'][number]

const alertOf = (name: string) => ({
  name,
  scope: 'global' as const,
  category: 'read',
  window: '1h',
  minRequests: null,
  at: [0.8],
  receiver: 'https://hooks.example.org',
  pending: 0,
})

function eventOf(at: string, part: Partial<AlertEvent> = {}): AlertEvent {
  return {
    id: at,
    alert: 'full',
    scope: 'global',
    subject: null,
    category: 'read',
    window: '1h',
    threshold: 0.8,
    used: 80,
    limit: 100,
    at,
    startedAt: at,
    endsAt: '2026-11-27T10:00:00.000Z',
    state: 'delivered',
    attempts: 1,
    nextAttemptAt: null,
    doneAt: at,
    lastError: null,
    ...part,
  }
}

const stateOf = (events: readonly AlertEvent[]) => alertStates({ alerts: [alertOf('full')], events }, NOW)[0]

test('an alert without an event was never raised, whatever became of others', () => {
  const other = eventOf('2026-11-27T09:30:00.000Z', { alert: 'other', state: 'given_up', lastError: 'refused' })
  expect(stateOf([other])).toMatchObject({ latest: null, raised: false, delivered: null, failing: null })
})

test('an alert is raised as long as the window of its newest event goes on', () => {
  expect(stateOf([eventOf('2026-11-27T09:30:00.000Z')])?.raised).toBe(true)
  expect(stateOf([eventOf('2026-11-27T08:30:00.000Z', { endsAt: '2026-11-27T09:40:00.000Z' })])?.raised).toBe(false)
})

test('a receiver fails if the newest event that it was asked to take did not reach it', () => {
  const taken = eventOf('2026-11-27T09:10:00.000Z')
  const waits = eventOf('2026-11-27T09:30:00.000Z', { state: 'pending', attempts: 0, doneAt: null })
  const tried = { ...waits, attempts: 2, lastError: 'status 500' }
  expect(stateOf([waits, taken])).toMatchObject({ failing: null, delivered: taken.at, latest: waits })
  expect(stateOf([taken, tried])).toMatchObject({ failing: 'status 500', delivered: taken.at, latest: tried })
  const givenUp = { ...tried, state: 'given_up' as const, doneAt: tried.at }
  expect(stateOf([givenUp, taken])).toMatchObject({ failing: 'status 500', delivered: taken.at })
})

test('a receiver that took an event after several attempts does not fail', () => {
  const late = eventOf('2026-11-27T09:30:00.000Z', { attempts: 3, lastError: 'status 500' })
  expect(stateOf([late])?.failing).toBeNull()
})
