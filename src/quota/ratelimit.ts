import type { Charge, Decision, Limits } from './charge.ts'
import { type Counter, usageOf } from './counter.ts'
import type { Policy } from './policy.ts'
import { violations } from './refusal.ts'
import type { Standing } from './store.ts'
import { type Limit, resetAt, type Usage } from './window.ts'

/**
 * The standard fields of draft-ietf-httpapi-ratelimit-headers-10: `RateLimit-Policy: "name";q=;w=` and
 * `RateLimit: "name";r=;t=`. Policy names are `personal-read-1h` and the like: configuration allows only characters
 * that are safe in a structured-field string.
 */

const policies = new WeakMap<Limits, string>()

/** Constant for one set of limits, so it is written once and remembered with it. */
export function rateLimitPolicy(category: string, limits: Limits): string {
  let text = policies.get(limits)
  if (text === undefined) {
    text = eachLimit(category, limits, (name, { limit, window }) => `"${name}";q=${limit};w=${window.seconds}`)
    policies.set(limits, text)
  }
  return text
}

/** What is left. `t` is absent where the window is not running: nothing is going to be reset. */
export function rateLimit(category: string, limits: Limits, decision: Omit<Decision, 'accepted'>): string {
  return eachLimit(category, limits, (name, { limit, window }, i, scope) => {
    const usage = (scope === 'personal' ? decision.personal : decision.global)?.[i]
    return `"${name}";r=${remaining(limit, usage)}${secondsLeft(usage, window.seconds, decision.at)}`
  })
}

function remaining(limit: number, usage: Usage | undefined): number {
  return Math.max(0, limit - (usage?.used ?? 0))
}

function secondsLeft(usage: Usage | undefined, seconds: number, at: number): string {
  if (usage === undefined || usage.startedAt === 0) return ''
  return `;t=${Math.ceil((resetAt(usage, seconds) - at) / 1000)}`
}

/** Both fields for all categories, for `/me/quota`. @param standing read for exactly `policy.categories`, in that order */
export function standingFields(policy: Policy, { at, personal, global }: Standing): string[] {
  const each = policy.categories.map((category, i) => ({ category, limits: policy.limitsOf(category), i }))
  const usages = (limits: readonly Limit[], counter: Counter = []): Usage[] =>
    limits.map(({ window }) => usageOf(counter, window.seconds, at))
  const left = each.map(({ category, limits, i }) =>
    rateLimit(category, limits, {
      at,
      personal: usages(limits.personal, personal[i]),
      global: limits.global === null ? null : usages(limits.global, global[i]),
    }),
  )
  const policies = each.map(({ category, limits }) => rateLimitPolicy(category, limits))
  return ['RateLimit-Policy', policies.join(', '), 'RateLimit', left.join(', ')]
}

type Field = (name: string, limit: Limit, index: number, scope: 'personal' | 'global') => string

function eachLimit(category: string, { personal, global }: Limits, field: Field): string {
  const own = personal.map((limit, i) => field(policyName('personal', category, limit), limit, i, 'personal'))
  const all = (global ?? []).map((limit, i) => field(policyName('global', category, limit), limit, i, 'global'))
  return [...own, ...all].join(', ')
}

function policyName(scope: string, category: string, { window }: Limit): string {
  return `${scope}-${category}-${window.name}`
}

/** The 429 as a problem of type `quota-exceeded`, for clients that accept `application/problem+json`. */
export function problemBody(charge: Charge, decision: Decision, detail: string): object {
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail,
    'violated-policies': violations(charge, decision).map(({ scope, limit }) =>
      policyName(scope.toLowerCase(), charge.category, limit),
    ),
  }
}
