import { type Charge, type Decision, decisionsOf, type Meter, metersOf } from './charge.ts'
import { hasPayer, SCOPE_NAMES, type ScopeName } from './charged-scopes.ts'
import { endOf, type Limit, NOT_RUNNING, promised, type Usage, usageAt, type Window } from './window.ts'
import { offsetOf } from './zone-offset.ts'

/** The names of the scopes in responses. */
export const SCOPE_TITLES = {
  personal: 'Personal',
  organisation: 'Organisation',
  global: 'Global',
} as const satisfies Record<ScopeName, string>
export type Scope = (typeof SCOPE_TITLES)[ScopeName]

/** The `quota` object of the 429 body. */
export interface QuotaViolation {
  readonly scope: Scope
  readonly category: string
  readonly window: string
  readonly limit: number
  /** Tokens that pass beyond the limit. Only a soft limit has them. */
  readonly over?: number
  readonly used: number
  readonly requested: number
  /** When requests have room again, in ISO 8601 UTC with milliseconds: when the window ends, or when the limit ends before it. */
  readonly resetAt: string
  /** The same moment in Asia/Shanghai, `YYYY-MM-DD hh:mm:ss`. */
  readonly retryAtBeijing: string
  readonly timeZone: typeof BEIJING
}

/** The whole 429 body. */
export interface RefusalBody {
  readonly error: 'quota_exceeded'
  readonly msg: string
  readonly retryAfterSeconds: number
  readonly quota: QuotaViolation
}

const BEIJING = 'Asia/Shanghai'

interface Violation {
  /** The meter that has no room. */
  readonly meter: Meter
  readonly scope: ScopeName
  readonly limit: Limit
  readonly used: number
  readonly resetAt: number
  /** When the run started; `null` if the window is not running. */
  readonly startedAt: number | null
}

/** The meter of a refused charge that a response names, as a charge by itself: the one with the latest reset. */
export function refusingMeter(charge: Charge, decision: Decision): { charge: Charge; decision: Decision } {
  if (charge.others === undefined) return { charge, decision }
  const meters = metersOf(charge)
  const { category } = violations(charge, decision)[0]?.meter ?? charge
  const i = meters.findIndex((meter) => meter.category === category)
  return { charge: meters[i] as Charge, decision: decisionsOf(decision)[i] as Decision }
}

/** Every window of every meter that refuses the charge. The one to report comes first. Empty for an accepted decision. */
export function violations(charge: Charge, decision: Decision): Violation[] {
  if (decision.accepted) return []
  const all: Violation[] = []
  addViolations(all, charge, decision)
  charge.others?.forEach((meter, i) => {
    addViolations(all, meter, decision.others?.[i] as Decision)
  })
  return all.length > 1 ? all.sort(worstFirst) : all
}

function addViolations(all: Violation[], meter: Meter, decision: Decision): void {
  const { personal, organisation, global } = decision.limits ?? meter.limits
  const { paidBy } = decision
  if (!hasPayer(paidBy, 'personal')) addOver(all, meter, 'personal', personal, decision.personal, decision.at)
  if (organisation !== null && decision.organisation !== null && !hasPayer(paidBy, 'organisation'))
    addOver(all, meter, 'organisation', organisation, decision.organisation, decision.at)
  if (global !== null) addOver(all, meter, 'global', global, decision.global ?? [], decision.at)
}

function addOver(
  all: Violation[],
  meter: Meter,
  scope: ScopeName,
  limits: readonly Limit[],
  usages: readonly Usage[],
  at: number,
): void {
  for (let i = 0; i < limits.length; i++) {
    const limit = limits[i] as Limit
    const usage = usageAt(usages[i] ?? NOT_RUNNING, limit.window, at)
    if (usage.used + meter.cost <= limit.limit) continue
    // A window that has not started and still refuses ends one length from now.
    const reset = endOf(limit.window, usage === NOT_RUNNING ? at : usage.startedAt)
    const startedAt = usage === NOT_RUNNING ? null : usage.startedAt
    all.push({ meter, scope, limit, used: usage.used, resetAt: reset, startedAt })
  }
}

/**
 * The latest reset comes first, so that one wait is enough. On a tie Personal comes before Organisation, Organisation
 * before Global, and a longer window before a shorter one.
 */
function worstFirst(a: Violation, b: Violation): number {
  if (a.resetAt !== b.resetAt) return b.resetAt - a.resetAt
  if (a.scope !== b.scope) return SCOPE_NAMES.indexOf(a.scope) - SCOPE_NAMES.indexOf(b.scope)
  return b.limit.window.seconds - a.limit.window.seconds
}

/** Whether and when a refused request may pass, if not at the end of its window. */
export interface Outlook {
  /** When a limit ends by itself and makes room before its window ends, in milliseconds since the epoch; `null` if no limit does. */
  readonly freeAt: number | null
  /** The window that refuses the charge for ever; `null` for none. */
  readonly never: ReturnType<typeof neverFits>
}

/**
 * The body of a 429, as the contract promises it. With several meters it names the one with the latest reset.
 * @param timeZone IANA name of the zone for the times in `msg`
 * @param outlook default that no limit changes by itself
 */
export function refusalBody(
  charge: Charge,
  decision: Decision,
  timeZone: string,
  { freeAt, never }: Outlook = { freeAt: null, never: neverFits(charge, decision) },
): RefusalBody {
  const [worst] = violations(charge, decision)
  if (worst === undefined) throw new Error('an accepted charge has no refusal')
  const { meter, scope, limit } = worst
  const until = freeAt ?? worst.resetAt
  const beijing = localTime(until, BEIJING)
  const there = timeZone === BEIJING ? beijing : localTime(until, timeZone)
  const after = `${there} ${timeZone} (${offsetOf(until, timeZone).name})`
  return {
    error: 'quota_exceeded',
    msg: sentence(worst, never, { after, isTemporary: freeAt !== null }),
    retryAfterSeconds: secondsUntil(until, decision.at),
    quota: {
      scope: SCOPE_TITLES[scope],
      category: meter.category,
      window: limit.window.name,
      limit: promised(limit),
      ...overOf(limit),
      used: worst.used,
      requested: meter.cost,
      resetAt: new Date(until).toISOString(),
      retryAtBeijing: beijing,
      timeZone: BEIJING,
    },
  }
}

/** The member `over` of bodies, logs and lists, which only a soft limit has. */
export function overOf({ over }: Limit): { readonly over?: number } {
  return over === undefined ? {} : { over }
}

/** A limit as part of a sentence: `100`, or `100, with 20 over,`. */
function spokenLimit(limit: Limit): string {
  return limit.over === undefined ? String(limit.limit) : `${promised(limit)}, with ${limit.over} over,`
}

/** Whole seconds, rounded up, at least 1. */
export function secondsUntil(moment: number, now: number): number {
  return Math.max(1, Math.ceil((moment - now) / 1000))
}

/**
 * A refusing window into which the cost never fits, so that waiting does not help; `null` for none. It may differ from the window that
 * is reported. The share of a limit during an outage is no such limit, because outages end. Neither is the limit of a new user, who
 * becomes known.
 * @param canRise as of `Ahead`. Default no
 */
export function neverFits(
  charge: Charge,
  decision: Decision,
  canRise = false,
): Pick<Violation, 'meter' | 'scope' | 'limit'> | null {
  if (decision.limits !== undefined || canRise) return null
  return violations(charge, decision).find(({ meter, limit }) => meter.cost > limit.limit + (limit.kept ?? 0)) ?? null
}

/** @param who the subject of the sentence, for example `This request` */
export function neverFitsSentence(scope: ScopeName, limit: Limit, category: string, cost: number, who: string): string {
  // A category is often called `tokens` itself, so the word is not written twice.
  const unit = cost === 1 ? 'token' : 'tokens'
  const tokens = category === 'tokens' ? `${cost} ${unit}` : `${cost} ${category} ${unit}`
  const whose = limit.kept === undefined ? '' : ' for new users'
  const of = `the ${SCOPE_TITLES[scope]} ${spoken(limit.window)} limit of ${spokenLimit(limit)}${whose}`
  return `${who} costs ${tokens}, more than ${of} ever allows; waiting does not help.`
}

function sentence(
  worst: Violation,
  never: ReturnType<typeof neverFits>,
  { after, isTemporary }: { readonly after: string; readonly isTemporary: boolean },
): string {
  const { meter, scope, limit } = isTemporary && never !== null ? never : worst
  const { category } = meter
  if (isTemporary) {
    const of = `${SCOPE_TITLES[scope]} ${spoken(limit.window)} ${category} limit of ${spokenLimit(limit)}`
    return `The ${of} leaves no room for this request, and it ends by itself. Requests may continue after ${after}.`
  }
  if (never !== null)
    return neverFitsSentence(never.scope, never.limit, never.meter.category, never.meter.cost, 'This request')
  return (
    `${SCOPE_TITLES[scope]} ${spoken(limit.window)} ${category} quota is used up${reserved(limit)}. ` +
    `Requests may continue after ${after}.`
  )
}

function reserved(limit: Limit): string {
  const { kept } = limit
  return kept === undefined ? '' : ` for new users: of ${promised(limit) + kept} tokens ${kept} are kept for known ones`
}

const UNITS = [
  [86400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

const BY_CALENDAR = { day: 'daily', week: 'weekly', month: 'monthly' } as const

/** `3600` as `1-hour`; a calendar window as `monthly`. */
function spoken({ seconds, calendar }: Window): string {
  if (calendar !== undefined) return BY_CALENDAR[calendar.unit]
  const [size, name] = UNITS.find(([unit]) => seconds % unit === 0) ?? [1, 'second']
  return `${seconds / size}-${name}`
}

/** `YYYY-MM-DD hh:mm:ss` in the zone, rounded up to the second, so that a client that waits for it has waited long enough. */
function localTime(moment: number, timeZone: string): string {
  const whole = Math.ceil(moment / 1000) * 1000
  const text = new Date(whole + offsetOf(whole, timeZone).ms).toISOString()
  return `${text.slice(0, 10)} ${text.slice(11, 19)}`
}
