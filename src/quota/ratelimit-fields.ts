import type { Decision, Limits } from './charge.ts'
import { SCOPE_NAMES, type ScopeName } from './charged-scopes.ts'
import { type Counter, usageOf } from './counter.ts'
import type { Payer, Policy } from './policy.ts'
import type { UsageSnapshot } from './quota-store.ts'
import { beginOf, endOf, type Limit, NOT_RUNNING, promised, resetAt, type Usage, type Window } from './window.ts'

/**
 * The standard fields of draft-ietf-httpapi-ratelimit-headers-10: `RateLimit-Policy: "name";q=;w=` and `RateLimit:
 * "name";r=;t=`. Policy names are `personal-read-1h` and the like. The configuration allows only characters that are
 * safe in a structured-field string.
 */

/** The part of the fields that stays the same for one set of limits until the period of a calendar window ends. */
interface Texts {
  /** In milliseconds since the epoch. Without calendar windows the texts are valid for ever. */
  readonly from: number
  readonly until: number
  readonly policy: string
  /** The text before the remaining tokens of each limit: `"personal-read-1h";r=`, with a comma before all but the first. */
  readonly personal: readonly string[]
  readonly organisation: readonly string[]
  readonly global: readonly string[]
}

const texts = new WeakMap<Limits, Texts>()

function textsOf(category: string, limits: Limits, at: number): Texts {
  let known = texts.get(limits)
  if (known === undefined || at < known.from || at >= known.until) {
    known = write(category, limits, at)
    texts.set(limits, known)
  }
  return known
}

function write(category: string, limits: Limits, at: number): Texts {
  const named = SCOPE_NAMES.flatMap((scope) =>
    (limits[scope] ?? []).map((limit) => ({
      window: limit.window,
      quota: promised(limit),
      scope,
      name: policyName(scope, category, limit),
    })),
  )
  const calendars = named.map(({ window }) => window).filter(({ calendar }) => calendar !== undefined)
  const policy = named.map(({ name, quota, window }) => `"${name}";q=${quota};w=${lengthAt(window, at)}`)
  const before = named.map(({ name, scope }, i) => ({ scope, text: `${i === 0 ? '' : ', '}"${name}";r=` }))
  const of = (wanted: ScopeName) => before.filter(({ scope }) => scope === wanted).map(({ text }) => text)
  return {
    from: Math.max(Number.NEGATIVE_INFINITY, ...calendars.map((window) => beginOf(window, at))),
    until: Math.min(Number.POSITIVE_INFINITY, ...calendars.map((window) => endOf(window, at))),
    policy: policy.join(', '),
    personal: of('personal'),
    organisation: of('organisation'),
    global: of('global'),
  }
}

/** In seconds. For a calendar window it is the length of the present period. */
function lengthAt(window: Window, at: number): number {
  return window.calendar === undefined ? window.seconds : (endOf(window, at) - beginOf(window, at)) / 1000
}

/**
 * The `RateLimit-Policy` field for one set of limits. It is written once and remembered with the limits.
 * @param at the store's time, because periods of a calendar differ in length
 */
export function rateLimitPolicy(category: string, limits: Limits, at: number): string {
  return textsOf(category, limits, at).policy
}

/**
 * The `RateLimit` field: what is left of each limit. `t` is absent if a window is not running, because nothing will be reset. (A calendar
 * window always runs.) If such a window refuses all the same, because its limit is below the cost, `t` is its length, as in the 429.
 * @param cost of the charge. Default 0, for a field that belongs to no charge
 * @param beyond tokens that were charged beyond what the decision has counted, below 0 if fewer were
 */
export function rateLimit(
  category: string,
  limits: Limits,
  decision: Omit<Decision, 'accepted'>,
  cost = 0,
  beyond = 0,
): string {
  const { personal, organisation, global } = textsOf(category, limits, decision.at)
  let text = left('', personal, limits.personal, decision.personal, decision.at, cost, beyond)
  if (limits.organisation !== null && decision.organisation !== null)
    text = left(text, organisation, limits.organisation, decision.organisation, decision.at, cost, beyond)
  if (limits.global === null || decision.global === null) return text
  return left(text, global, limits.global, decision.global, decision.at, cost, beyond)
}

/** Appends to `text` what is left of each limit. */
function left(
  text: string,
  names: readonly string[],
  limits: readonly Limit[],
  usages: readonly Usage[],
  at: number,
  cost: number,
  beyond: number,
): string {
  for (let i = 0; i < limits.length; i++) {
    const { limit, over = 0, window } = limits[i] as Limit
    const usage = usages[i] ?? NOT_RUNNING
    text += names[i] as string
    const used = usage.used + beyond
    text += used < limit - over ? limit - over - used : 0
    if (usage.startedAt !== 0) text += untilText(resetAt(usage, window) - at)
    else if (cost > limit || window.calendar !== undefined) text += untilText(endOf(window, at) - at)
  }
  return text
}

/** Texts by their seconds. They are remembered because each request needs several, and requests of one second need the same ones. */
const until = new Map<number, string>()
const MOST_UNTIL = 1000

/** @param ms left of a window */
function untilText(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  const known = until.get(seconds)
  if (known !== undefined) return known
  if (until.size >= MOST_UNTIL) until.clear()
  const text = `;t=${seconds}`
  until.set(seconds, text)
  return text
}

/**
 * Both fields for all categories, as `/me/quota` sends them.
 * @param snapshot of the user, read for exactly `policy.categories`, in that order
 */
export function snapshotFields(policy: Policy, snapshot: UsageSnapshot, payer: Payer): string[] {
  const { at, personal, organisation, global } = snapshot
  const each = policy.categories.map((category, i) => ({ category, limits: policy.limitsFor(category, payer), i }))
  const usages = (limits: readonly Limit[], counter: Counter = []): Usage[] =>
    limits.map(({ window }) => usageOf(counter, window, at))
  const left = each.map(({ category, limits, i }) =>
    rateLimit(category, limits, {
      at,
      personal: usages(limits.personal, personal[i]),
      organisation: limits.organisation === null ? null : usages(limits.organisation, organisation?.[i]),
      global: limits.global === null ? null : usages(limits.global, global[i]),
    }),
  )
  const policies = each.map(({ category, limits }) => rateLimitPolicy(category, limits, at))
  return ['RateLimit-Policy', policies.join(', '), 'RateLimit', left.join(', ')]
}

/** The name of a window in the RateLimit fields. */
export function policyName(scope: string, category: string, { window }: Limit): string {
  return `${scope}-${category}-${window.name}`
}
