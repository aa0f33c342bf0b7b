import { exhausted, SOON } from '../edge/denials.ts'
import { type Denial, denial, STATUS_OF } from '../errors.ts'
import type { ForwardError } from '../forward/contract.ts'
import type { RefusingLimit } from '../observe/observation.ts'
import { roomFrom } from '../quota/ahead.ts'
import type { Charge, Decision, Meter } from '../quota/charge.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import { problemBody } from '../quota/problem-body.ts'
import { legacyFields } from '../quota/quota-state.ts'
import type { StoreError } from '../quota/quota-store.ts'
import { neverFits, overOf, type RefusalBody, refusalBody, violations } from '../quota/refusal.ts'
import { promised } from '../quota/window.ts'
import { acceptsProblem } from '../respond/accepts-problem.ts'
import {
  JSON_TYPE,
  NEVER_FIELD,
  type OwnResponse,
  PROBLEM_TYPE,
  rateLimitFields,
  sentOften,
} from '../respond/response.ts'
import type { Repetition, Rules } from './snapshot.ts'

/** What a client gets if the quota refuses its request, or if the store, the upstream or the gateway fails. */

/** A 429 and the limit in it. */
export interface Refusal {
  readonly response: OwnResponse
  readonly by: Omit<RefusingLimit, 'source'>
  /** The limit and its source when it was last named; `null` before that. */
  named: NamedLimit | null
}

/** A limit with its source, and what the source depends on besides the refusal. */
interface NamedLimit {
  readonly caller: Payer
  readonly policy: Policy
  readonly limit: RefusingLimit
}

/** The rules that a 429 depends on. */
type RefusalRules = Pick<Rules, 'timeZone' | 'retryAfterMax' | 'legacyFields' | 'ahead'>

/** A finished refusal, and what its 429 depends on besides the decision. */
interface Known extends Refusal {
  readonly cost: number
  readonly others: readonly Meter[] | undefined
  readonly rules: RefusalRules
  readonly problem: boolean
}

/**
 * The 429 for a decision. It is kept with the decision, because a client that goes on asking gets the same decision for a while, and a
 * refusal takes a quarter less CPU if its response exists already.
 *
 * @param payer whose limits may end by themselves
 * @param accept of the request, see `acceptsProblem`
 */
export function refusalOf(
  payer: Payer,
  charge: Charge,
  decision: Decision,
  rules: RefusalRules,
  accept: string | undefined,
): Refusal {
  const problem = acceptsProblem(accept)
  const before = decision.memo as Known | undefined
  const isKnown = before?.cost === charge.cost && before.rules === rules && before.problem === problem
  if (isKnown && costAlike(before.others, charge.others)) return before
  const ahead = rules.ahead()
  const freeAt = roomFrom(ahead, payer, charge, decision)
  const never = neverFits(charge, decision, ahead.canRise)
  const body = refusalBody(charge, decision, rules.timeZone, { freeAt, never })
  const state = freeAt === null && never !== null ? NEVER_FIELD : []
  const response = sentOften(refusalResponse(charge, decision, body, problem, rules, state))
  const by = refusingWindow(charge, decision)
  if (by === null) throw new Error('an accepted charge has no refusal')
  const { cost, others } = charge
  const refusal: Known = { response, by, named: null, cost, others, rules, problem }
  decision.memo = refusal
  return refusal
}

/** Whether further meters ask for the same amounts. */
function costAlike(meters: readonly Meter[] | undefined, others: readonly Meter[] | undefined): boolean {
  return meters === others || meters?.every(({ cost }, i) => cost === others?.[i]?.cost) === true
}

/** The window in a 429. @returns `null` if no window refuses the charge */
export function refusingWindow(charge: Charge, decision: Decision): Refusal['by'] | null {
  const [worst] = violations(charge, decision)
  if (worst === undefined) return null
  const { meter, scope, limit, used, startedAt } = worst
  const resetAt = new Date(worst.resetAt).toISOString()
  const of = { scope, category: meter.category, window: limit.window.name, limit: promised(limit), ...overOf(limit) }
  return { ...of, used, requested: meter.cost, resetAt, startedAt, at: decision.at }
}

function refusalResponse(
  charge: Charge,
  decision: Decision,
  body: RefusalBody,
  problem: boolean,
  { retryAfterMax, legacyFields: isLegacy }: RefusalRules,
  state: readonly string[],
): OwnResponse {
  const { retryAfterSeconds, quota } = body
  const remaining = Math.max(0, quota.limit - quota.used)
  const legacy = isLegacy ? legacyFields({ limit: quota.limit, remaining, resetSeconds: retryAfterSeconds }) : []
  return {
    status: STATUS_OF.quota_exceeded,
    headers: [
      ...(problem ? PROBLEM_TYPE : JSON_TYPE),
      'Retry-After',
      String(Math.min(retryAfterSeconds, retryAfterMax)),
      'X-Quota-Reset',
      quota.resetAt,
      ...state,
      ...rateLimitFields(charge, decision),
      ...legacy,
    ],
    body: JSON.stringify(problem ? { ...problemBody(charge, decision, body.msg), ...body } : body),
    facts: { code: body.error, msg: body.msg, quota, retryAfterSeconds },
  }
}

export function storeUnavailable({ reason }: StoreError): Denial {
  const msg = 'The quota store cannot be reached, so this request was not forwarded. Try again in a moment.'
  return denial('store_unavailable', msg, { headers: SOON, reason })
}

/** For a question to which the store has not responded yet. */
export function unknownYet(): Denial {
  const msg = 'This is not known yet: the store could not be read so far. Try again in a moment.'
  return denial('store_unavailable', msg, { headers: SOON, reason: 'unread' })
}

/** @param header as configured */
export function keyReused({ header }: Repetition): Denial {
  const msg = `An earlier request with this ${header} had another body, Content-Type, Content-Encoding or priced header. To repeat it, send it exactly as before. Use a new ${header} only for a new request.`
  return denial('idempotency_key_reused', msg)
}

const FORWARD_FAILED = {
  upstream_unreachable: 'The upstream cannot be reached.',
  upstream_timeout: 'The upstream did not respond in time.',
  bad_upstream_answer: 'The upstream sent no whole response, or one that is not valid HTTP.',
} as const satisfies Readonly<Record<Exclude<ForwardError, 'no_connection'>, string>>

export function forwardFailed(error: ForwardError): Denial {
  if (error === 'no_connection') return NO_CONNECTION
  return denial(error, FORWARD_FAILED[error])
}

const NO_CONNECTION = exhausted({ thing: 'upstream_connections', bound: 'total', max: 0 }, undefined)

export function internal(): Denial {
  return denial('internal', 'Something went wrong in the gateway.')
}
