import type { DistributionResponse } from '../contract/api.ts'
import { everyStep } from '../lib/steps.ts'
import { type Counter, usageOf } from '../quota/counter.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import { promised, type Window } from '../quota/window.ts'
import type { Desk } from './desk.ts'

/** How much of one window all users or organisations have used, to help with setting a limit. */
type Distribution = Pick<DistributionResponse, 'counted' | 'exempt' | 'others' | 'shares' | 'percentiles'> & {
  /** The store's time of the reading, in milliseconds since the epoch. */
  readonly at: number
}

export interface DistributionOptions {
  readonly desk: Pick<Desk, 'store' | 'payersOf' | 'membersOf'>
  readonly scope: 'personal' | 'organisation'
  readonly category: string
  readonly window: Window
  /** Only owners with the limits of this plan. Default all. */
  readonly plan: string | null
  /**
   * Only users whose limit comes from the settings, without a plan or an override, and who are not in shadow mode. Default all.
   */
  readonly ofSettings?: boolean
  readonly policy: Policy
  /** Users to whom nothing is charged. Default nobody. */
  readonly exempt?: ReadonlySet<string>
  /** Ends the search between two steps. */
  readonly signal?: AbortSignal
}

const PARTS = 10

/** Looks at all owners in steps, with the event loop and the store free in between. @throws StoreError, or the reason of the signal */
export async function distribution(options: DistributionOptions): Promise<Distribution> {
  const { policy, category, window, plan, scope, exempt, ofSettings = false, signal } = options
  const leftOut = { exempt: new Set<string>(), others: new Set<string>() }
  const counts = new Array<number>(PARTS + 1).fill(0)
  /** By id, because a scan may return an owner twice. */
  const used = new Map<string, number>()
  let at = 0
  for await (const step of everyStep((cursor: string | null) => stepOf(options, cursor), signal)) {
    for (const { id, counter, payer } of step.some) {
      if (used.has(id) || (plan !== null && policy.planOf(payer)?.name !== plan)) continue
      const limit = policy.limitsFor(category, payer)[scope]?.find((each) => each.window.name === window.name)
      if (limit === undefined) continue
      const tokens = usageOf(counter, limit.window, step.at).used
      if (tokens === 0) continue
      if (scope === 'personal' && exempt?.has(id)) {
        leftOut.exempt.add(id)
        continue
      }
      if (ofSettings && (policy.isShadowed(id) || !policy.followsSettings(category, payer, window.name))) {
        leftOut.others.add(id)
        continue
      }
      used.set(id, tokens)
      const part = partOf(tokens, promised(limit))
      counts[part] = (counts[part] ?? 0) + 1
    }
    at = step.at
  }
  const shares = counts.map((count, i) => ({ from: (i * 100) / PARTS, count }))
  const counted = { counted: used.size, exempt: leftOut.exempt.size, others: leftOut.others.size }
  return { at, ...counted, shares, percentiles: percentilesOf([...used.values()]) }
}

interface Step {
  readonly at: number
  readonly some: readonly { readonly id: string; readonly counter: Counter; readonly payer: Payer }[]
  readonly next: string | null
}

async function stepOf(options: DistributionOptions, cursor: string | null): Promise<Step> {
  const { desk, scope, category } = options
  const { at, owners, next } = await desk.store[scope === 'personal' ? 'scanUsers' : 'scanOrganisations'](cursor)
  const payers = await desk[scope === 'personal' ? 'payersOf' : 'membersOf'](owners.map(({ id }) => id))
  const some = owners.flatMap(({ id, counters }, i) => {
    const [counter, payer] = [counters.get(category), payers[i]]
    return counter === undefined || payer === undefined ? [] : [{ id, counter, payer }]
  })
  return { at, some, next }
}

function partOf(tokens: number, limit: number): number {
  return tokens >= limit ? PARTS : Math.floor((tokens / limit) * PARTS)
}

function percentilesOf(values: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort()
  if (sorted.length === 0) return []
  return Array.from({ length: 101 }, (_, p) => sorted[Math.max(0, Math.ceil((p * sorted.length) / 100) - 1)] as number)
}
