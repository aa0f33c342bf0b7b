import { expect, it } from 'vitest'
import type { Noticed } from '../../../src/alerts/alert.ts'
import { FAILURES } from '../../../src/alerts/kinds/failures.ts'
import { BUCKET_MS, NOTHING } from '../../../src/failures/histogram.ts'

const AT = 50 * BUCKET_MS + 600_000
const half = (ago: number, total: number, status0: number, status5xx: number) => ({
  ...{ ...NOTHING, start: (50 - ago) * BUCKET_MS },
  ...{ total, status0, status5xx },
})

function noticing(minRequests = 100) {
  const noticed: Noticed[] = []
  const watch = FAILURES.watcher({ raise: (one) => void noticed.push(one) })
  watch.configure([{ name: 'broken', scope: 'failures', category: null, window: null, at: [0.1, 0.2], minRequests }])
  return { noticed, watch }
}

it('the failures of a half hour are noticed by the share of status 0 and 5xx, each threshold once, from so many requests on', () => {
  const { noticed, watch } = noticing()
  watch.noteFailures([half(0, 99, 50, 49)], AT)
  watch.noteFailures([half(0, 100, 5, 4)], AT)
  expect(noticed).toEqual([])
  watch.noteFailures([half(0, 100, 5, 5)], AT)
  watch.noteFailures([half(0, 110, 6, 6)], AT + 10_000)
  watch.noteFailures([half(0, 200, 20, 20)], AT + 20_000)
  watch.noteFailures([half(0, 200, 100, 100)], AT + 30_000)
  expect(noticed.map(({ happening }) => happening.threshold)).toEqual([0.1, 0.2])
  expect(noticed[0]?.happening).toEqual({
    ...{ alert: 'broken', scope: 'failures', subject: null, category: null, window: null, threshold: 0.1 },
    ...{ used: 10, limit: 100, at: AT, startedAt: 50 * BUCKET_MS, endsAt: 51 * BUCKET_MS },
  })
})

it('the failures of a half hour are those of the running half hour, and for a minute after its end of the one before', () => {
  const { noticed, watch } = noticing()
  watch.noteFailures([half(1, 100, 50, 0)], AT)
  expect(noticed).toEqual([])
  const early = 50 * BUCKET_MS + 5000
  for (const at of [early, early + 10_000]) watch.noteFailures([half(1, 100, 50, 0), half(0, 100, 0, 10)], at)
  expect(noticed.map(({ claim: { run, threshold } }) => [run / BUCKET_MS, threshold])).toEqual([
    [49, 0.2],
    [50, 0.1],
  ])
})
