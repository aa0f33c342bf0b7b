import type { Charge, Decision } from './charge.ts'
import { type Limit, NOT_RUNNING, resetAt, type Usage, usageAt } from './window.ts'

export type Scope = 'Personal' | 'Global'

/** The `quota` object of the 429 body. */
export interface QuotaViolation {
  readonly scope: Scope
  readonly category: string
  readonly window: string
  readonly limit: number
  readonly used: number
  readonly requested: number
  /** ISO 8601 UTC with milliseconds. */
  readonly resetAt: string
  /** The same moment in Asia/Shanghai, `YYYY-MM-DD hh:mm:ss`. */
  readonly retryAtBeijing: string
  readonly timeZone: 'Asia/Shanghai'
}

/** The whole 429 body. */
export interface RefusalBody {
  readonly error: 'quota_exceeded'
  readonly msg: string
  readonly retryAfterSeconds: number
  readonly quota: QuotaViolation
}

interface Violation {
  readonly scope: Scope
  readonly limit: Limit
  readonly used: number
  readonly resetAt: number
}

/** Every window that refuses the charge, the one to report first. Empty for an accepted decision. */
export function violations(charge: Charge, decision: Decision): Violation[] {
  if (decision.accepted) return []
  const all = [
    ...over('Personal', charge.limits.personal, decision.personal, charge.cost, decision.at),
    ...over('Global', charge.limits.global ?? [], decision.global ?? [], charge.cost, decision.at),
  ]
  return all.sort(worstFirst)
}

function over(scope: Scope, limits: readonly Limit[], usages: readonly Usage[], cost: number, at: number): Violation[] {
  return limits.flatMap((limit, i) => {
    const { seconds } = limit.window
    const usage = usageAt(usages[i] ?? NOT_RUNNING, seconds, at)
    if (usage.used + cost <= limit.limit) return []
    // A window that has not started and still refuses would end one length from now.
    const reset = usage === NOT_RUNNING ? at + seconds * 1000 : resetAt(usage, seconds)
    return [{ scope, limit, used: usage.used, resetAt: reset }]
  })
}

/** The latest reset first, so that waiting once is enough; on a tie Personal before Global, then the longer window. */
function worstFirst(a: Violation, b: Violation): number {
  if (a.resetAt !== b.resetAt) return b.resetAt - a.resetAt
  if (a.scope !== b.scope) return a.scope === 'Personal' ? -1 : 1
  return b.limit.window.seconds - a.limit.window.seconds
}

/**
 * The body of a 429, field by field what the contract promises.
 * @param timeZone IANA name of the zone that `msg` speaks in
 */
export function refusalBody(charge: Charge, decision: Decision, timeZone: string): RefusalBody {
  const [worst] = violations(charge, decision)
  if (worst === undefined) throw new Error('an accepted charge has no refusal')
  const { scope, limit } = worst
  return {
    error: 'quota_exceeded',
    msg: sentence(worst, charge.category, timeZone),
    retryAfterSeconds: secondsUntil(worst.resetAt, decision.at),
    quota: {
      scope,
      category: charge.category,
      window: limit.window.name,
      limit: limit.limit,
      used: worst.used,
      requested: charge.cost,
      resetAt: new Date(worst.resetAt).toISOString(),
      retryAtBeijing: localTime(worst.resetAt, 'Asia/Shanghai'),
      timeZone: 'Asia/Shanghai',
    },
  }
}

/** Whole seconds, rounded up, at least 1. */
export function secondsUntil(moment: number, now: number): number {
  return Math.max(1, Math.ceil((moment - now) / 1000))
}

function sentence({ scope, limit, resetAt }: Violation, category: string, timeZone: string): string {
  return (
    `${scope} ${spoken(limit.window.seconds)} ${category} quota is used up. ` +
    `Requests may continue after ${localTime(resetAt, timeZone)} ${timeZone} (${offset(resetAt, timeZone)}).`
  )
}

const UNITS = [
  [86400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

/** `3600` as `1-hour`. */
function spoken(seconds: number): string {
  const [size, name] = UNITS.find(([unit]) => seconds % unit === 0) ?? [1, 'second']
  return `${seconds / size}-${name}`
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** One formatter a zone: making one costs far more than using it. Zones come from the configuration, so the map stays small. */
function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = clocks.get(timeZone)
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    })
    clocks.set(timeZone, clock)
  }
  return clock
}

function partsOf(moment: number, timeZone: string): Record<string, string> {
  return Object.fromEntries(
    clockOf(timeZone)
      .formatToParts(moment)
      .map((p) => [p.type, p.value]),
  )
}

/** `YYYY-MM-DD hh:mm:ss` in the zone, rounded up to the second: who waits for it has waited long enough. */
function localTime(moment: number, timeZone: string): string {
  const p = partsOf(Math.ceil(moment / 1000) * 1000, timeZone)
  return `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}:${p.second}`
}

/** `UTC+8`, `UTC-3:30`, `UTC`. */
function offset(moment: number, timeZone: string): string {
  const name = partsOf(moment, timeZone).timeZoneName ?? ''
  const [, sign = '', hours = '00', minutes = '00'] = /([+-])(\d\d):(\d\d)/.exec(name) ?? []
  if (hours === '00' && minutes === '00') return 'UTC'
  return `UTC${sign}${Number(hours)}${minutes === '00' ? '' : `:${minutes}`}`
}
