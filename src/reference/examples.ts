import { type Config, metersIn } from '../config/config.ts'
import { failureRate } from '../failures/failure-rate.ts'
import { bucketStart, NOTHING } from '../failures/histogram.ts'
import { createPolicy } from '../quota/policy.ts'
import { problemBody } from '../quota/problem-body.ts'
import { refusalBody } from '../quota/refusal.ts'
import { quotaStatus } from '../quota/status.ts'
import { beginOf, endOf, type Window } from '../quota/window.ts'
import type { ShownPage } from '../usage/usage-text.ts'
import { priceList } from './price-list.ts'

/** The start of the windows of the examples. The request comes `LATER_MS` later, or just before the end of a shorter window. */
const STARTED = Date.UTC(2026, 7, 6, 14, 6, 26)
const LATER_MS = 20 * 60_000
const ALICE = { user: 'alice', organisation: null, plan: null }

export type Examples = ReturnType<typeof examplesOf>

/** The responses of this very gateway to a user who has used up the first window of a category, by the limits of the file. */
export function examplesOf(config: Pick<Config, 'quota' | 'routes' | 'unmatched' | 'timeZone'>) {
  const { quota, routes, timeZone } = config
  const policy = createPolicy(quota)
  const charged = routes
    .flatMap((route) => (route.public ? [] : metersIn(route)))
    .flatMap(({ category, cost }) => (cost.kind === 'fixed' && cost.cost > 0 ? { category, cost: cost.cost } : []))
  const { category, cost } = charged[0] ?? { category: policy.categories[0] ?? '', cost: 1 }
  const { personal } = policy.limitsFor(category, ALICE)
  const at = Math.min(STARTED + LATER_MS, ...personal.map(({ window }) => endOf(window, STARTED) - 1))
  const counters = policy.categories.map((name) =>
    policy
      .limitsFor(name, ALICE)
      .personal.map(({ window, limit }) => ({ seconds: window.seconds, startedAt: STARTED, used: Math.min(8, limit) })),
  )
  const charge = { ...ALICE, category, cost, limits: { personal, organisation: null, global: null } }
  const usages = personal.map(({ limit }, i) => ({ startedAt: STARTED, used: i === 0 ? limit : 0 }))
  const decision = { accepted: false, at, personal: usages, organisation: null, global: null }
  const refusal = personal.length === 0 ? undefined : refusalBody(charge, decision, timeZone)
  const rate = failureRate({
    at: STARTED + LATER_MS,
    buckets: [{ start: bucketStart(STARTED), ...NOTHING, total: 120, status5xx: 3 }],
  })
  const prices = priceList(config, policy)
  return {
    status: quotaStatus(policy, { at, personal: counters, organisation: null, global: [] }, ALICE),
    refusal,
    problem: refusal && { ...problemBody(charge, decision, refusal.msg), ...refusal },
    usage: usageOf(category, personal[0]?.window, at),
    rate: { ...rate, series: rate.series.slice(-1) },
    prices: { ...prices, routes: prices.routes.slice(0, 3) },
  }
}

function usageOf(category: string, window: Window | undefined, at: number): ShownPage | undefined {
  if (window === undefined) return undefined
  const iso = (moment: number) => new Date(moment).toISOString()
  const [start, end] = [beginOf(window, STARTED), endOf(window, STARTED)].map(iso) as [string, string]
  const row = { user: ALICE.user, category, window: window.name, start, end, tokens: 8, running: true }
  const range = { from: iso(at - 86_400_000), to: iso(at), by: 'user', step: 'run', window: window.name } as const
  return { ...range, complete: true, rows: [row], next: null }
}
