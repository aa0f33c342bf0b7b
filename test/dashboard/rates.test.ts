import { expect, test } from 'vitest'
import type { NowResponse } from '../../src/contract/api.ts'
import { latestRates, rateHistory, ratesBetween, replicaRates } from '../../src/dashboard/logic/rates.ts'

const START = Date.parse('2026-11-20T10:00:00Z')
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString()

/** What two looks differ by: the requests of each replica. */
function look(seconds: number, requests: Readonly<Record<string, number>>, startedAt = at(-100)): NowResponse {
  const counts = (n: number) => ({
    requests: n,
    refused: n / 2,
    shadowed: 0,
    tokens: n * 4,
    forwarded: n,
    failed: 0,
    inFlight: 0,
  })
  return {
    at: at(seconds),
    counts: counts(0),
    replicas: Object.entries(requests).map(([instance, n]) => ({ instance, startedAt, counts: counts(n) })),
  } as unknown as NowResponse
}

test('a rate is what was added a second, over all replicas', () => {
  expect(ratesBetween(look(0, { a: 100, b: 10 }), look(2, { a: 120, b: 20 }))).toMatchObject({
    at: START + 2000,
    requests: 15,
    refused: 7.5,
    tokens: 60,
  })
})

test('each replica has its own rates; one that was late to be seen has none yet', () => {
  const rates = replicaRates(look(0, { a: 100, b: 10 }), look(2, { a: 120, b: 16, c: 50 }))
  expect([...(rates ?? [])].map(([instance, { requests }]) => [instance, requests])).toEqual([
    ['a', 10],
    ['b', 3],
    ['c', 0],
  ])
})

test('a replica that ended takes nothing away', () => {
  expect(ratesBetween(look(0, { a: 100, b: 1000 }), look(1, { a: 110 }))?.requests).toBe(10)
})

test('a replica that began since counts from its start; one that was only late to be seen does not', () => {
  expect(ratesBetween(look(0, {}), look(2, { c: 8 }, at(1)))?.requests).toBe(4)
  expect(ratesBetween(look(0, {}), look(2, { c: 8 }))?.requests).toBe(0)
})

test('counts that fall are a fresh start, never a negative rate', () => {
  expect(ratesBetween(look(0, { a: 100 }), look(1, { a: 3 }))?.requests).toBe(0)
})

test('two looks at one moment have no rate', () => {
  expect(ratesBetween(look(1, { a: 1 }), look(1, { a: 2 }))).toBeNull()
})

test('the history is taken over three looks, so that beats of the replicas do not show', () => {
  const looks = [look(0, { a: 0 }), look(2, { a: 60 }), look(4, { a: 60 }), look(6, { a: 60 }), look(8, { a: 120 })]
  expect(rateHistory(looks).map(({ requests }) => requests)).toEqual([10, 10])
})

test('minutes in which nobody looked have no rate', () => {
  const looks = [0, 2, 4, 6, 8, 300, 302, 304, 306, 308].map((seconds) => look(seconds, { a: seconds * 10 }))
  const history = rateHistory(looks)
  expect(history.map((rates) => (rates.at - START) / 1000)).toEqual([6, 8, 306, 308])
})

test('the rates before such minutes are no latest rates', () => {
  const history = rateHistory([0, 2, 4, 6].map((seconds) => look(seconds, { a: seconds })))
  expect(latestRates(history, look(8, {}))).toEqual(history.at(-1))
  expect(latestRates(history, look(300, {}))).toBeUndefined()
  expect(latestRates([], look(0, {}))).toBeUndefined()
})
