import { setTimeout as sleep } from 'node:timers/promises'
import { isMissing } from '../auth/authenticator.ts'
import { kindOf } from '../auth/verdict.ts'
import { targetOf, whyNotUpgraded } from '../edge/head-rules.ts'
import type { Denial } from '../errors.ts'
import { traceparentOf } from '../lib/trace-context.ts'
import type { Access, Observation, RequestDone } from '../observe/observation.ts'
import { planLabel } from '../quota/policy.ts'
import { wholeAddressOf } from './client-address.ts'
import type { Context, Exchange } from './context.ts'
import { voiceOf } from './failure-voice.ts'
import type { Ending } from './outcome.ts'
import type { AccessRules } from './snapshot.ts'

/** All that is observed about a request, but for its charge: once when it is admitted or not, and once when it has ended. */

/** What is known of it before its end, which may be days away. */
export function recordAdmission({ observe }: Context, exchange: Exchange): void {
  const { req, unmatched, letIn } = exchange
  if (letIn !== null) observe({ type: 'caller_let_in', why: whyLetIn(letIn) })
  if (unmatched !== null) observe({ type: 'unmatched', method: req.method ?? '', path: unmatched })
}

/** What would have been, in a few words for a metric. */
function whyLetIn(refused: Denial): Extract<Observation, { type: 'caller_let_in' }>['why'] {
  if (isMissing(refused)) return 'missing'
  if (refused.code === 'bad_request') return 'ambiguous'
  return refused.code === 'unauthorized' || refused.code === 'headers_too_large' ? 'invalid' : 'unchecked'
}

/** How long the record of a request with a key waits for what the store makes of its cost, in milliseconds. Then it has what was asked for. */
const WAIT_MS = 2000

/** The last step of every request, good or bad. */
export function record(context: Context, exchange: Exchange, ending: Ending): void {
  const durationMs = performance.now() - exchange.startedAt
  const { made } = exchange
  if (made === null) write(context, exchange, ending, null, durationMs)
  else {
    const late = sleep(WAIT_MS, null, { ref: false })
    void Promise.race([made, late]).then((back) => write(context, exchange, ending, back, durationMs))
  }
}

/** @param made what the store has given back, if it had to say that */
function write(context: Context, exchange: Exchange, ending: Ending, made: number | null, durationMs: number): void {
  const { req, route, caller, letIn, cost, plan, exempt, settlement, requestId } = exchange
  const lenient = exchange.lenient.length === 0 ? ending.lenient : [...exchange.lenient, ...ending.lenient]
  const { observe, witness } = context
  noteAddress(context, exchange)
  const charged = chargedIn(exchange) - (made ?? givenBack(exchange))
  const { outcome, error, share, httpStatus, clientStatus, upstreamMs } = ending
  // Each field by its name: to an object that begins as a copy V8 adds the others in steps, for several times its bytes.
  const done: RequestDone = {
    type: 'request',
    outcome,
    error,
    share,
    httpStatus,
    clientStatus,
    upstreamMs,
    reason: ending.reason ?? settlement?.reason ?? null,
    requestId,
    traceparent: exchange.trace === null ? traceparentOf(req.headers) : exchange.trace.traceparent,
    trace: exchange.trace,
    user: caller?.user ?? null,
    kind: caller === null ? null : kindOf(caller),
    letIn: letIn === null ? null : (letIn.reason ?? letIn.code),
    method: req.method ?? '',
    route: route?.match ?? null,
    category: route?.tariff?.category ?? null,
    cost,
    charged: charged === cost && exchange.finalCost === null ? null : charged,
    plan: plan?.name ?? null,
    planLabel: planLabel(plan),
    namedPlan: caller?.plan ?? null,
    organisation: caller?.organisation ?? null,
    refusedBy: typeof settlement?.refusedBy === 'object' ? settlement.refusedBy : null,
    decidedAt: settlement?.decision?.at ?? null,
    exempt,
    lenient,
    notUpgraded: exchange.res === null ? null : whyNotUpgraded(req),
    shadowed: settlement?.kind === 'shadowed',
    replayed: settlement?.kind === 'repeated',
    voice: voiceOf(exchange),
    durationMs,
    access: exchange.rules.access === null ? null : accessOf(exchange, exchange.rules.access),
  }
  observe(done)
  witness?.(req.url ?? '', done)
}

/** Its target may hold a credential in its query only. */
const MOST_OF_PATH = 1024

function accessOf({ req, client, rules }: Exchange, { address, path }: AccessRules): Access {
  return {
    address: address ? wholeAddressOf(client, req.headers, rules.isProxy) : null,
    path: path
      ? targetOf(req)
          .replace(/[?#].*$/s, '')
          .slice(0, MOST_OF_PATH)
      : null,
  }
}

/** What the request was charged before its end: a tunnel may be charged again and again. */
function chargedIn({ settlement, cost }: Exchange): number {
  return settlement?.kind === 'charged' ? cost : 0
}

/** What is given back of it, as it was asked for. */
function givenBack({ isRefunded, finalCost, settlement }: Exchange): number {
  if (settlement?.kind !== 'charged') return 0
  const { cost } = settlement.charge
  return isRefunded ? cost : cost - (finalCost?.tokens ?? cost)
}

function noteAddress({ rules, oneAddress }: Context, { req, client, caller }: Exchange): void {
  const { address } = client
  if (address === '' || rules().isProxy(address)) return
  const { headers } = req
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
  oneAddress.note(address, caller?.user ?? null, isForwarded)
}
