import { expect, test } from 'vitest'
import type { RefusalsResponse, StatusResponse } from '../../src/contract/api.ts'
import { refusedSince } from '../../src/dashboard/logic/full-since.ts'
import { failingShare, hasNoRefusals } from '../../src/dashboard/logic/status.ts'

const STARTED = '2026-11-27T08:30:00.000Z'
const NOBODY: StatusResponse = {
  store: { answers: true },
  storeOutage: {},
  shadow: false,
  controlVersion: 0,
  full: [],
  users: 0,
  organisations: 0,
  global: 0,
  upstream: null,
}

test('nobody was refused lately if no window is full, nobody was refused a moment ago, and the store takes charges', () => {
  const full = [{ category: 'read', window: '1h', until: STARTED, remaining: 0, tooDear: null }]
  expect(hasNoRefusals(NOBODY)).toBe(true)
  const others = [{ full }, { users: 1 }, { organisations: 1 }, { global: 1 }, { store: { answers: false } }]
  expect(others.map((part) => hasNoRefusals({ ...NOBODY, ...part }))).toEqual([false, false, false, false, false])
})

test('failures of the forwarded requests are worth a line from two percent, and then until they are half a percent', () => {
  const share = (failed: number, wasFailing = false, requests = 1000) =>
    failingShare({ upstream: { requests, failed } }, wasFailing)
  expect(share(19)).toBeNull()
  expect(share(500)).toBe(0.5)
  expect(share(6, true)).toBeCloseTo(0.006)
  expect(share(4, true)).toBeNull()
  // Too few to know, and not known at all.
  expect(share(10, false, 19)).toBeNull()
  expect(failingShare({ upstream: null }, true)).toBeNull()
})

test('a window refuses since its first refusal of this run, if all of them are known', () => {
  type Refusal = RefusalsResponse['refusals'][number]
  const global = (first: string, part: Partial<Refusal> = {}): Refusal => ({
    ...{ user: 'bob', plan: null, organisation: null, category: 'read', scope: 'Global', window: '1h' },
    ...{ startedAt: STARTED, first, last: '2026-11-27T08:59:00.000Z', count: 1, routes: [], limit: 10, used: 10 },
    ...{ source: 'baseline', cost: 4, until: '2026-11-27T09:00:00.000Z', emptied: false },
    ...part,
  })
  const refusals = [
    global('2026-11-27T08:50:00.000Z'),
    global('2026-11-27T08:41:00.000Z', { user: 'eve' }),
    global('2026-11-27T08:20:00.000Z', { startedAt: '2026-11-27T07:30:00.000Z', last: '2026-11-27T08:29:00.000Z' }),
  ]
  const window = { window: '1h', startedAt: STARTED }
  expect(refusedSince({ refusals, next: 'more' }, 'read', window)).toBe('2026-11-27T08:41:00.000Z')
  expect(refusedSince({ refusals: refusals.slice(0, 2), next: 'more' }, 'read', window)).toBeNull()
  expect(refusedSince({ refusals, next: null }, 'write', window)).toBeNull()
  expect(refusedSince(null, 'read', window)).toBeNull()
})
