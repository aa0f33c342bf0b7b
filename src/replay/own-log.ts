import { isObject } from '../lib/json.ts'
import { isPeriodDay } from '../quota/period-days.ts'
import { type Entry, type EntryMeter, type LineReader, type Reading, type TunnelEntry, unreadable } from './entry.ts'

/** Reads the log of a gateway, JSON lines: requests have `"msg":"request"`, charges of open WebSockets `"msg":"tunnel charge"`. */
export const readOwnLine: LineReader = (line) => {
  const seen = parsed(line)
  return seen === null ? unreadable('it is no JSON object') : readingOf(seen)
}

/** The fields of a line that are read. */
type Field =
  | 'msg'
  | 'time'
  | 'durationMs'
  | 'method'
  | 'route'
  | 'decidedAt'
  | 'outcome'
  | 'error'
  | 'shadowed'
  | 'replayed'
  | 'exempt'
  | 'category'
  | 'cost'
  | 'charged'
  | 'others'
  | 'further'
  | 'user'
  | 'plan'
  | 'organisation'
  | 'namedPlan'
  | 'periodDay'
  | 'organisationDay'
  | 'scope'
  | 'httpStatus'
  | 'clientStatus'
  | 'requestId'
  | 'openMs'
  | 'everyMs'

type Seen = Readonly<Partial<Record<Field, unknown>>>

function readingOf(seen: Seen): Reading {
  // A charge of an open tunnel has a line for each meter. Only the first is read, because the configuration has the cost in each category.
  if ((seen.msg !== 'request' && seen.msg !== TUNNEL_CHARGE) || seen.further === true) return NOT_A_REQUEST
  const { time, durationMs = 0, method, route, decidedAt } = seen
  if (!isMoment(time)) return unreadable('"time" is no moment in milliseconds')
  if (typeof durationMs !== 'number' || !(durationMs >= 0 && durationMs < time))
    return unreadable('"durationMs" is no duration')
  if (typeof method !== 'string') return unreadable('"method" is no text')
  const fate = fateOf(seen)
  if (fate === null) return BEFORE_THE_QUOTA
  if (typeof route !== 'string') return NO_RULE
  // A request that the quota did not decide, because it was exempt or cost nothing, counts at its beginning.
  const at = isMoment(decidedAt) ? decidedAt : time - durationMs
  return { kind: 'request', entry: entryOf(seen, { at, time, method, route, fate }) }
}

const TUNNEL_CHARGE = 'tunnel charge'

/** Whether a line is about a tunnel. The lines of a tunnel share a `requestId`, which is read from no other line. */
function isOfTunnel({ msg, clientStatus }: Seen): boolean {
  return msg === TUNNEL_CHARGE || clientStatus === 101
}

const NOT_A_REQUEST: Reading = { kind: 'other', why: 'not a request' }
const BEFORE_THE_QUOTA: Reading = { kind: 'other', why: 'refused before the quota' }
const NO_RULE: Reading = { kind: 'other', why: 'no rule' }

function parsed(line: string): Seen | null {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** `null` for a request that was never charged, nor refused by the quota. */
function fateOf(seen: Seen): Entry['fate'] | null {
  const { outcome, shadowed, scope, replayed, exempt } = seen
  if (outcome === 'refused') return 'refused'
  if (shadowed === true) return scope === undefined ? 'undecided' : 'shadowed'
  if (isBeforeQuota(seen)) return null
  if (exempt === 'address') return 'exempt'
  if (replayed === true) return outcome === 'answered' ? 'asked_again' : 'repeated'
  if (hasReachedNobody(seen) && isGivenBack(seen)) return 'unreached'
  return exempt === 'user' ? 'exempt_user' : 'passed'
}

/** Whether a request was denied before the quota. A question of a proxy may be `answered`, and a bad upload `denied`, after a charge. */
function isBeforeQuota(seen: Seen): boolean {
  const { outcome, decidedAt, category, cost, others } = seen
  if (outcome === 'denied') return !isMoment(decidedAt) || isGivenBack(seen)
  if (outcome === 'answered') return typeof category !== 'string'
  // An aborted request has a cost above 0 if it was charged.
  return outcome === 'aborted' && cost === 0 && others === undefined
}

function hasReachedNobody({ outcome, error, httpStatus }: Seen): boolean {
  if (outcome === 'aborted') return httpStatus === null
  return outcome === 'failed' && error === 'upstream_unreachable'
}

/** Whether nothing stays charged in any of its meters. */
function isGivenBack(seen: Seen): boolean {
  const others = Array.isArray(seen.others) ? seen.others.filter(isObject) : []
  return [seen, ...others].every(({ cost, charged }) => cost === 0 || charged === 0)
}

interface Checked {
  readonly at: number
  readonly time: number
  readonly method: string
  readonly route: string
  readonly fate: Entry['fate']
}

function entryOf(seen: Seen, { at, time, method, route, fate }: Checked): Entry {
  return {
    at,
    endedAt: Math.max(at, time),
    method,
    target: { kind: 'rule', text: route },
    user: textOf(seen.user),
    address: null,
    plan: textOf(seen.namedPlan === undefined ? seen.plan : seen.namedPlan),
    organisation: textOf(seen.organisation),
    ...daysOf(seen),
    cost: tokensOf(seen.cost),
    charged: chargedOf(seen.charged, fate),
    fate,
    ...(fate === 'passed' && hasFailed(seen) && { failed: true as const }),
    ...(isOfTunnel(seen) && { tunnel: tunnelOf(seen) }),
    ...(Array.isArray(seen.others) && { meters: [seen, ...seen.others].flatMap((each) => meterOf(each, fate)) }),
  }
}

function daysOf({ periodDay, organisationDay }: Seen): Pick<Entry, 'days'> {
  const days = {
    ...(isPeriodDay(periodDay) && { periodDay }),
    ...((organisationDay === null || isPeriodDay(organisationDay)) && { organisationDay }),
  }
  return Object.keys(days).length === 0 ? {} : { days }
}

/** The tokens that stayed charged. With other fates the field is 0, which does not say what the request would have cost. */
function chargedOf(charged: unknown, fate: Entry['fate']): number | null {
  return fate === 'passed' || fate === 'unreached' ? tokensOf(charged) : null
}

function meterOf(seen: unknown, fate: Entry['fate']): [] | [EntryMeter] {
  if (!isObject(seen) || typeof seen.category !== 'string') return []
  return [{ category: seen.category, cost: tokensOf(seen.cost), charged: chargedOf(seen.charged, fate) }]
}

function hasFailed({ clientStatus }: Seen): boolean {
  return typeof clientStatus === 'number' && clientStatus >= 400
}

function tunnelOf({ requestId, openMs, everyMs }: Seen): TunnelEntry {
  return { id: textOf(requestId) ?? '', openMs: tokensOf(openMs) ?? 0, everyMs: tokensOf(everyMs) ?? 0 }
}

/** Whether a date can hold the number. */
function isMoment(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= 8.64e15
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function tokensOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null
}
