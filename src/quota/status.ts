import { usageOf } from './counter.ts'
import type { Policy } from './policy.ts'
import type { Scope } from './refusal.ts'
import type { Standing } from './store.ts'
import { type Limit, NOT_RUNNING, resetAt } from './window.ts'

/** One entry of `GET /me/quota`. */
export interface WindowStatus {
  readonly scope: Scope
  readonly window: string
  readonly limit: number
  readonly used: number
  /** Never below 0, also where a limit was lowered under what is used. */
  readonly remaining: number
  /** ISO 8601 UTC; `null` for a window that is not running. */
  readonly startedAt: string | null
  readonly resetAt: string | null
}

/** The body of `GET /me/quota`: entries by category, Personal first, shortest window first. */
export interface QuotaStatus {
  readonly windows: Readonly<Record<string, readonly WindowStatus[]>>
}

/** @param standing read for exactly `policy.categories`, in that order */
export function quotaStatus(policy: Policy, standing: Standing): QuotaStatus {
  const windows: Record<string, WindowStatus[]> = Object.create(null)
  policy.categories.forEach((category, i) => {
    const { personal, global } = policy.limitsOf(category)
    windows[category] = [
      ...personal.map((limit) => entry('Personal', limit, standing.personal[i] ?? [], standing.at)),
      ...(global ?? []).map((limit) => entry('Global', limit, standing.global[i] ?? [], standing.at)),
    ]
  })
  return { windows }
}

function entry(
  scope: Scope,
  { window, limit }: Limit,
  counter: Standing['personal'][number],
  at: number,
): WindowStatus {
  const usage = usageOf(counter, window.seconds, at)
  const runs = usage !== NOT_RUNNING
  return {
    scope,
    window: window.name,
    limit,
    used: usage.used,
    remaining: Math.max(0, limit - usage.used),
    startedAt: runs ? new Date(usage.startedAt).toISOString() : null,
    resetAt: runs ? new Date(resetAt(usage, window.seconds)).toISOString() : null,
  }
}
