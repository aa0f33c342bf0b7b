import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Caller } from '../auth/authenticator.ts'
import { isVerified } from '../auth/verdict.ts'
import { askForBody } from '../edge/body/read-body.ts'
import type { IncomingRequest, IncomingUpgrade, RequestHandler } from '../edge/connection.ts'
import { cutOffBy, forwardUnlessCutOff } from '../edge/cut-off.ts'
import { turnOf, turnOfUpgrade } from '../edge/request-turn.ts'
import { type Denial, denial, STATUS_OF } from '../errors.ts'
import type { ForwardError, ForwardReceiver, ForwardResult } from '../forward/contract.ts'
import { withoutParameters } from '../lib/query-parameters.ts'
import { offeredIn } from '../lib/subprotocols.ts'
import { type Charge, type Decision, type Meter, metersOf } from '../quota/charge.ts'
import { isOver, legacyFields, NOTHING_BEYOND, quotaField, tightestOf } from '../quota/quota-state.ts'
import { askedBy, presented } from '../respond/presentation.ts'
import {
  denialResponse,
  OVER_FIELD,
  type OwnResponse,
  REPLAY_FIELD,
  rateLimitFields,
  SHADOW_FIELD,
  writeRawResponse,
  writeResponse,
} from '../respond/response.ts'
import { mostRead } from '../routing/final-cost.ts'
import type { Target } from '../routing/target.ts'
import { type Context, type Decides, Exchange, type GatewayOptions, type Given } from './context.ts'
import { createFailedChecks } from './failed-checks.ts'
import { meterIn, ruleIn } from './meters.ts'
import { createOneAddress, ONE_ADDRESS } from './one-address.ts'
import { answered, cutOffEnding, denied, type Ending, forwarded as endingOf, left, Stop } from './outcome.ts'
import { lineOf, type Plan, plan } from './plan.ts'
import { record, recordAdmission } from './record.ts'
import { type Asked, type CostTap, chargedField, chargedFields, ResponseCost } from './response-cost.ts'
import { ResponseCosts } from './response-costs.ts'
import { ResponseText } from './response-text.ts'
import { forwardFailed, internal } from './responses.ts'
import { openPriceOf, SentCost } from './sent-cost.ts'
import { ask, correct, giveBack, isPaid, type Paid, type Settlement, type Settling } from './settlement.ts'
import type { MeterRule, Route, RouteTariff } from './snapshot.ts'
import {
  identify,
  orderOf,
  ownResponse,
  price,
  takeHead,
  takePlace,
  takeSettlement,
  takeUpstreamPlace,
  type WeighedHead,
} from './steps.ts'
import { createLeases } from './tunnel-leases.ts'

export interface Gateway extends RequestHandler {
  /** Decides about a request for a service that asks, and responds to the service. Never throws. */
  decide(request: IncomingRequest, given: Given): void
  /** The address that sends nearly all requests and looks like a load balancer that is not trusted; else `null`. */
  oneAddress(): string | null
}

export function createGateway(options: GatewayOptions): Gateway {
  const { observe } = options
  const context: Context = {
    ...options,
    failedChecks: createFailedChecks(),
    leases: createLeases(options),
    oneAddress: createOneAddress((address) => observe({ type: 'one_address', address, text: ONE_ADDRESS })),
    inFlight: 0,
  }
  return {
    handle: (request) => enter(new Passage(context, request, null), begin, null),
    handleUpgrade: (upgrade) => enter(new Passage(context, null, upgrade), begin, null),
    decide(request, given) {
      const x = new Passage(context, request, null)
      x.given = given
      enter(x, begin, null)
    },
    inFlight: () => context.inFlight,
    oneAddress: context.oneAddress.suspect,
  }
}

/** An exchange on its way through the functions below. The quota and the forwarder call it back with their results. */
class Passage extends Exchange implements Settling, ForwardReceiver {
  readonly request: IncomingRequest | null
  readonly upgrade: IncomingUpgrade | null
  /** Its long head, until it is known whether looking at it was in vain. */
  head: WeighedHead | null = null
  /** When the forwarder got the request, in monotonic milliseconds. */
  forwardedAt = 0
  upstreamMs = 0
  /** Finds out during the response what the request cost; `null` if that is known before. */
  tap: CostTap | ResponseCosts | null = null
  result: ForwardResult | null = null
  isOver = false

  constructor(context: Context, request: IncomingRequest | null, upgrade: IncomingUpgrade | null) {
    super(context, (request ?? upgrade) as IncomingRequest | IncomingUpgrade, request?.res ?? null)
    this.request = request
    this.upgrade = upgrade
    context.inFlight++
  }

  settled(settlement: Settlement | Denial): void {
    enter(this, settled, settlement)
  }

  forwarded(result: ForwardResult): void {
    enter(this, forwarded, result)
  }

  failed(error: unknown): void {
    failed(this, error)
  }
}

type Step<T> = (x: Passage, value: T) => void

/**
 * Calls the next step with the result of a step, and at once unless the result is a promise, as it rarely is. To await each step would
 * take 4,000 bytes for each request, and closures here would take some of them.
 */
function on<T>(x: Passage, given: T | Promise<T>, next: Step<T>): void {
  if (given instanceof Promise) wait(x, given, next)
  else next(x, given)
}

function wait<T>(x: Passage, given: Promise<T>, next: Step<T>): void {
  given.then(
    (value) => enter(x, next, value),
    (error) => failed(x, error),
  )
}

/** Begins or continues a request after a wait. Errors that are thrown from here on are faults of the gateway. */
function enter<T>(x: Passage, step: Step<T>, value: T): void {
  try {
    step(x, value)
  } catch (error) {
    failed(x, error)
  }
}

/**
 * The way of every request and upgrade, from top to bottom. If a step returns a Stop, the request goes no further, and `decided` comes
 * next. Whatever is ambiguous is denied before anything else is looked at.
 */

function begin(x: Passage): void {
  const { request, upgrade, holder } = x
  if (request !== null) on(x, turnOf(request, holder.address), admit)
  else on(x, turnOfUpgrade(upgrade as IncomingUpgrade, holder.address), admit)
}

function admit(x: Passage, isHere: boolean): void {
  const stop = isHere ? takeRoom(x) : LEFT
  if (stop === null) look(x)
  else decided(x, stop)
}

function takeRoom(x: Passage): Stop | null {
  const { ambiguity } = (x.request ?? x.upgrade) as IncomingRequest | IncomingUpgrade
  if (ambiguity !== null) return denied(ambiguity)
  const full = takePlace(x)
  if (full !== null) return full
  const head = takeHead(x)
  if (head instanceof Stop) return head
  x.head = head
  return null
}

function look(x: Passage): void {
  const planned = plan(x.rules, lineOf(x.req, x.res, x.rules))
  if (planned.kind === 'route') {
    take(x, planned)
    on(x, identify(x, planned.route), identified)
  } else on(x, ownResponse(x, planned), decided)
}

const LEFT = left('the client left before its turn')

function take(x: Passage, { target, route }: Extract<Plan, { kind: 'route' }>): void {
  x.route = route
  x.target = target
  if (target.lenient !== undefined) x.lenient = [...x.lenient, ...target.lenient]
  if (route === x.rules.unmatched) x.unmatched = target.matched
}

function identified(x: Passage, caller: Caller | Stop | null): void {
  if (caller instanceof Stop) decided(x, caller)
  else on(x, price(x, x.route as Route, x.target as Target), priced)
}

function priced(x: Passage, stop: Stop | null): void {
  if (stop !== null) decided(x, stop)
  else on(x, takeUpstreamPlace(x), placed)
}

function placed(x: Passage, stop: Stop | null): void {
  const order = stop ?? orderOf(x, x.route as Route)
  if (order === null || order instanceof Stop) decided(x, order)
  else ask(x.context, order, x)
}

function settled(x: Passage, settlement: Settlement | Denial): void {
  decided(x, takeSettlement(x, settlement))
}

/** @param found `null` for a request that goes on to the upstream */
function decided(x: Passage, found: Stop | null): void {
  if (x.head !== null) endHead(x, x.head, found)
  recordAdmission(x.context, x)
  const { decides } = x.context
  const stop = decides === undefined ? found : responseFor(x, decides, found)
  if (stop !== null) finish(x, respond(x, stop))
  else if (x.upgrade === null) forward(x, x.res as ServerResponse)
  else on(x, tunnel(x, x.upgrade), finish)
}

/** The response to a proxy or service that asks: whether the request may go on, for which user, and with which fields for the client. */
function responseFor(x: Passage, decides: Decides, stop: Stop | null): Stop {
  if (x.given !== null) return responseForService(x, x.given, stop)
  if (stop !== null) return stop.ending.outcome === 'answered' ? OWN_PATH : stop
  const fields = x.rules.forwarder.ownFields(verifiedCaller(x), x.rules.describesQuota ? quotaText(x) : null)
  // The first two texts are name and value of the request's id, which each response gets anyway.
  const id = decides.idOf(x)
  const named = id === null ? [] : ['X-Tollgate-Decision', id]
  return answered({ status: 200, headers: [...fields, ...named, ...responseFields(x).slice(2)], body: '' })
}

function responseForService(x: Passage, given: Given, found: Stop | null): Stop {
  const stop = found?.ending.outcome === 'answered' ? OWN_PATH : found
  if (stop?.response === null) return stop
  const response = given.respond(x, stop)
  return stop === null ? answered(response) : new Stop(stop.ending, response)
}

/** With a 200, the proxy would send a request for one of the gateway's pages to an upstream that does not have it. */
const OWN_PATH = denied(
  denial('no_route', 'The gateway serves this itself, and not where it only decides: send the request to the gateway.'),
)

/** Looking at a long head was in vain if the request is denied and its caller has no accepted credential. */
function endHead(x: Passage, head: WeighedHead, stop: Stop | null): void {
  const { caller } = x
  const isOfUser = caller !== null && isVerified(caller)
  x.head = null
  head.end(stop !== null && stop.ending.outcome === 'denied' && !isOfUser)
}

function forward(x: Passage, res: ServerResponse): void {
  const { req } = x
  const cutBefore = forwardUnlessCutOff(req)
  if (cutBefore === null) {
    if (x.body === null) askForBody(req, res)
    x.forwardedAt = performance.now()
    x.tap = costTapOf(x)
    x.rules.forwarder.forward(outgoing(x, res), x)
  } else {
    refundUnreached(x, NOT_SENT)
    finish(x, respond(x, denied(cutBefore)))
  }
}

const NOT_SENT = { reached: false, error: null }

function forwarded(x: Passage, result: ForwardResult): void {
  x.result = result
  x.upstreamMs = performance.now() - x.forwardedAt
  refundUnreached(x, result)
  if (x.tap === null) responded(x)
  else on(x, settleByResponse(x, x.tap, result), responded)
}

function responded(x: Passage): void {
  const { req, upstreamMs } = x
  const [res, result] = [x.res as ServerResponse, x.result as ForwardResult]
  if (result.error !== null && !result.headSent) {
    writeResponse(req, res, own(x, failureResponse(x, result.error)), x.requestId)
  }
  const cut = result.outcome === 'aborted' ? cutOffBy(req) : null
  const { statusCode } = res
  finish(x, cut === null ? endingOf(result, upstreamMs, statusCode) : cutOffEnding(cut, result, upstreamMs, statusCode))
}

async function tunnel(x: Passage, { socket, head }: IncomingUpgrade): Promise<Ending> {
  const { observe, leases } = x.context
  const startedAt = performance.now()
  const { signal, close } = leases.open(x)
  observe({ type: 'upgrade_opened' })
  const subprotocol = answeredSubprotocol(x)
  const result = await x.rules.forwarder
    .upgrade({ ...outgoing(x, null), socket, head, signal, subprotocol })
    .finally(() => {
      observe({ type: 'upgrade_closed' })
      close()
    })
  refundUnreached(x, result)
  const error = result.error !== null && !result.headSent ? forwardFailed(result.error) : null
  if (error !== null) writeRaw(x, socket, denialResponse(error), 'GET')
  return endingOf(result, performance.now() - startedAt, error === null ? result.httpStatus : STATUS_OF[error.code])
}

/** The last step of every request, whether it succeeded or not. */
function finish(x: Passage, ending: Ending): void {
  x.isOver = true
  try {
    record(x.context, x, ending)
  } finally {
    x.context.inFlight--
    x.holder.end()
    if (x.request !== null) x.client.served(x.request)
  }
}

/** Handles a fault of the gateway. */
function failed(x: Passage, error: unknown): void {
  x.context.observe({ type: 'internal_error', where: 'gateway', error })
  if (x.isOver) return
  x.head?.end(false)
  const { response, ending } = denied(internal())
  if (x.res?.headersSent === false && response !== null) writeResponse(x.req, x.res, own(x, response), x.requestId)
  else x.res?.destroy()
  finish(x, ending)
  x.upgrade?.socket.destroy()
}

/**
 * What the forwarder needs. Each field is written by its name, for the reason in `record.ts`. @param res `null` for an
 * upgrade
 */
function outgoing<R extends ServerResponse | null>(x: Passage, res: R) {
  return {
    req: x.req,
    res,
    target: targetOf(x),
    caller: verifiedCaller(x),
    passCredentials: x.letIn !== null,
    requestId: x.requestId,
    trace: x.trace,
    quota: x.rules.describesQuota ? quotaText(x) : null,
    patience: x.route?.patience ?? null,
    responseHeaders: responseFields(x),
    exposed: x.rules.presentation?.cors?.expose ?? null,
    body: x.body,
    tap: x.tap,
    places: x.holder,
  }
}

function verifiedCaller({ caller }: Passage): Caller | null {
  return caller !== null && isVerified(caller) ? caller : null
}

/** A credential that the gateway has not accepted belongs to the upstream, and stays. */
function targetOf({ target, rules, letIn }: Passage): string {
  const { path, query } = target as Target
  const { parameters } = rules.credentials
  return path + (parameters.length === 0 || letIn !== null ? query : withoutParameters(query, parameters))
}

/** The quota field for the upstream; `null` if the quota was not asked. */
function quotaText({ settlement }: Passage): string | null {
  if (settlement === null) return null
  const { kind, charge, decision, plan } = settlement
  const isBeyond = kind !== 'shadowed' && decision !== null && isOver(charge, decision)
  const state = kind === 'shadowed' ? 'shadow' : isBeyond ? 'over' : 'within'
  return quotaField(state, charge, decision, plan?.name ?? null)
}

/** Fields to add to the upstream's response. If there is a tap, the tap adds the fields of the quota, since it may know the cost by then. */
function responseFields({ requestId, settlement, rules, tap }: Passage): string[] {
  if (settlement === null) return ['X-Request-Id', requestId]
  const { kind, charge, decision } = settlement
  const saysRest = tap === null && decision !== null
  const fields = saysRest ? quotaFields(rules, charge, decision, 0, requestId) : ['X-Request-Id', requestId]
  if (kind === 'shadowed') fields.splice(2, 0, ...SHADOW_FIELD)
  if (kind === 'repeated') fields.splice(2, 0, ...REPLAY_FIELD)
  return fields
}

/** The fields of the quota in a response. @param beyond, requestId as of `rateLimitFields` */
function quotaFields(
  rules: Passage['rules'],
  charge: Charge,
  decision: Decision,
  beyond: number,
  requestId: string | null,
  beyondOthers = NOTHING_BEYOND,
): string[] {
  const fields = rules.rateLimitFields
    ? rateLimitFields(charge, decision, beyond, requestId, beyondOthers)
    : requestId === null
      ? []
      : ['X-Request-Id', requestId]
  if (decision.accepted && isOver(charge, decision, beyond, beyondOthers)) fields.push(...OVER_FIELD)
  if (!(rules.legacyFields && rules.rateLimitFields)) return fields
  const tightest = tightestOf(charge, decision, beyond, beyondOthers)
  if (tightest !== null) fields.push(...legacyFields(tightest))
  return fields
}

/**
 * The subprotocol that the gateway chooses itself; `null` for none. A browser gives a WebSocket up if it offered subprotocols and none is
 * chosen, but the upstream cannot choose one that it is not shown because of a credential.
 */
function answeredSubprotocol({ req, rules, letIn }: Passage): string | null {
  const { subprotocols } = rules.credentials
  const list = req.headers['sec-websocket-protocol']
  if (subprotocols.size === 0 || list === undefined || letIn !== null) return null
  const { credentials, others } = offeredIn(list, subprotocols)
  return others.length === 0 ? (credentials[0]?.[0] ?? null) : null
}

/**
 * Gives the charge back if the upstream certainly saw nothing of the request. Without `refundUnreached` that happens only if there was no
 * connection for the request.
 */
function refundUnreached(x: Passage, { reached, error }: Pick<ForwardResult, 'reached' | 'error'>): void {
  const { rules, settlement } = x
  if (reached || !isPaid(settlement) || !(rules.refundUnreached || error === 'no_connection')) return
  x.isRefunded = true
  const made = giveBack(x.context, settlement)
  for (const [i, { category }] of metersOf(settlement.charge).entries()) meterIn(x, category).made = made[i] ?? null
}

/** The cost of a request with a key depends on other requests with the key, and some may still come. */
function isCostKnown({ kind, decision }: Settlement): boolean {
  return kind === 'charged' && decision?.once === undefined
}

/** The tap that finds out what a charged request cost; `null` if the cost is known before the response. */
function costTapOf(x: Passage): CostTap | ResponseCosts | null {
  const { req, rules, route, settlement } = x
  if (route?.tariff == null || !isPaid(settlement)) return null
  const { tariff } = route
  if (!tariff.mayChange) return null
  const asked = {
    isHead: req.method === 'HEAD',
    hasField: isCostKnown(settlement),
    quota: quotaOf(rules, settlement),
  }
  return tariff.others === null
    ? meterTapOf(x, tariff, settlement.charge.cost, asked)
    : costTapsOf(x, tariff, settlement, asked)
}

/** `null` if the costs of all charged meters are known before the response. */
function costTapsOf(x: Passage, tariff: RouteTariff, { charge }: Paid, asked: Asked): ResponseCosts | null {
  const each = { ...asked, hasField: false, quota: () => [] }
  const rules = metersOf(charge).map(({ category }) => ruleIn(tariff, category))
  const text = new ResponseText(Math.max(...rules.map(({ settle }) => mostRead(settle))))
  const meters = metersOf(charge).map(({ category, cost }, i) => {
    return { category, cost, tap: meterTapOf(x, rules[i] as MeterRule, cost, each, text) }
  })
  return meters.every(({ tap }) => tap === null) ? null : new ResponseCosts(meters, asked)
}

/** @param text of the response, if several meters may read it */
function meterTapOf(
  x: Passage,
  { settle, price }: MeterRule,
  cost: number,
  asked: Asked,
  text: ResponseText | null = null,
): CostTap | null {
  if (settle !== null) return new ResponseCost(settle, cost, asked, text)
  const open = openPriceOf(x, price)
  return open === null ? null : new SentCost(x, open, cost, asked)
}

/** Makes the fields of the quota, given how much more the request costs than its charge. */
function quotaOf(rules: Passage['rules'], settlement: Paid): Asked['quota'] {
  const { charge, decision } = settlement
  // For a request with a key, other requests decide what is given back, which may be nothing.
  const least = isCostKnown(settlement) ? Number.NEGATIVE_INFINITY : 0
  return (beyond, others = NOTHING_BEYOND) => {
    const beyondOthers = others.map((each) => Math.max(least, each))
    return quotaFields(rules, charge, decision, Math.max(least, beyond), null, beyondOthers)
  }
}

/** Gives back what was reserved but not used, or charges the difference, unless everything was given back before. */
async function settleByResponse(x: Passage, tap: CostTap | ResponseCosts, result: ForwardResult): Promise<void> {
  const { settlement } = x
  if (!isPaid(settlement) || x.isRefunded) return
  if (tap instanceof ResponseCosts) return settleMeters(x, tap, settlement, result)
  const cost = await tap.cost(result)
  if (settlement.kind === 'charged') x.finalCost = cost
  x.made = correct(x.context, settlement, cost)
}

async function settleMeters(x: Passage, tap: ResponseCosts, settlement: Paid, result: ForwardResult): Promise<void> {
  const meters = metersOf(settlement.charge)
  for (const [i, cost] of (await tap.costs(result)).entries()) {
    if (cost === null) continue
    const meter = meterIn(x, (meters[i] as Meter).category)
    if (settlement.kind === 'charged') meter.finalCost = cost
    meter.made = correct(x.context, settlement, cost, i)
  }
}

/** The gateway's own response if the upstream sent none. */
function failureResponse(x: Passage, error: ForwardError): OwnResponse {
  const { settlement } = x
  const response = denialResponse(forwardFailed(error))
  if (settlement?.kind === 'repeated') return { ...response, headers: [...response.headers, ...REPLAY_FIELD] }
  if (settlement === null || !isCostKnown(settlement)) return response
  return { ...response, headers: [...response.headers, ...chargedWithoutResponse(x, settlement.charge)] }
}

/** What was charged for a request without a response, if a response could have said the cost. */
function chargedWithoutResponse(x: Passage, charge: Charge): string[] {
  const { isRefunded, finalCost } = x
  const tariff = x.route?.tariff
  if (tariff?.others == null) {
    const tokens = isRefunded && tariff?.settle != null ? 0 : finalCost?.tokens
    return tokens === undefined ? [] : chargedField(tokens)
  }
  const meters = metersOf(charge)
  if (meters.every(({ category }) => ruleIn(tariff, category).settle === null)) return []
  return chargedFields(
    meters.map(({ category, cost }) => {
      const tokens = isRefunded ? 0 : (meterIn(x, category).finalCost?.tokens ?? cost)
      return [category, tokens] as const
    }),
  )
}

function respond(x: Passage, { response, ending }: Stop): Ending {
  if (response === null) return ending
  if (x.upgrade === null) writeResponse(x.req, x.res as ServerResponse, own(x, response), x.requestId)
  else writeRaw(x, x.upgrade.socket, response, x.req.method ?? null)
  return ending
}

function writeRaw(x: Passage, socket: Duplex, response: OwnResponse, method: string | null): void {
  writeRawResponse(socket, own(x, response), { requestId: x.requestId, method })
}

/** A response of the gateway itself, in the form that the configuration demands. */
function own({ req, rules, caller, requestId, given }: Passage, response: OwnResponse): OwnResponse {
  if (rules.presentation === null || given !== null) return response
  return presented(rules.presentation, response, askedBy(req, requestId, caller?.user ?? null))
}
