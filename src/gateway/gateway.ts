import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isVerified } from '../auth/verdict.ts'
import { askForBody } from '../edge/body/read-body.ts'
import type { IncomingRequest, IncomingUpgrade, RequestHandler } from '../edge/connection.ts'
import { cutOffBy, forwardUnlessCutOff } from '../edge/cut-off.ts'
import { turnOf, turnOfUpgrade } from '../edge/request-turn.ts'
import { type Denial, STATUS_OF } from '../errors.ts'
import type { ForwardError, ForwardResult } from '../forward/contract.ts'
import { neededFor } from '../inputs/inputs.ts'
import { withoutParameters } from '../lib/query-parameters.ts'
import { offeredIn } from '../lib/subprotocols.ts'
import { askedBy, presented } from '../respond/presentation.ts'
import {
  denialResponse,
  type OwnResponse,
  REPLAY_FIELD,
  rateLimitFields,
  SHADOW_FIELD,
  writeRawResponse,
  writeResponse,
} from '../respond/response.ts'
import { addressOf } from './client-address.ts'
import type { Context, Exchange, GatewayOptions, Pass } from './context.ts'
import { createFailedChecks } from './failed-checks.ts'
import { createOneAddress, ONE_ADDRESS } from './one-address.ts'
import { cutOffEnding, denied, type Ending, forwarded, left, Stop } from './outcome.ts'
import { lineOf, plan } from './plan.ts'
import { record, recordAdmission } from './record.ts'
import { chargedField, ResponseCost } from './response-cost.ts'
import { forwardFailed, internal } from './responses.ts'
import { correct, giveBack, isPaid, type Settlement } from './settlement.ts'
import {
  charge,
  identify,
  ownResponse,
  price,
  takeHead,
  takePlace,
  takeUpstreamPlace,
  type WeighedHead,
} from './steps.ts'
import { beginTrace } from './trace.ts'
import { createLeases } from './tunnel-leases.ts'

export interface Gateway extends RequestHandler {
  /** The address that brings nearly all requests, and looks like a load balancer that is not trusted; else `null`. */
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
    handle: (request) => handle(context, request),
    handleUpgrade: (upgrade) => handleUpgrade(context, upgrade),
    inFlight: () => context.inFlight,
    oneAddress: context.oneAddress.suspect,
  }
}

async function handle(context: Context, request: IncomingRequest): Promise<void> {
  const { res, ambiguity } = request
  const exchange = begin(context, request, res)
  try {
    const turn = turnOf(request, exchange.holder.address)
    const isHere = turn instanceof Promise ? await turn : turn
    const admission = isHere ? await admit(context, exchange, ambiguity) : LEFT
    recordAdmission(context, exchange)
    const ending =
      admission instanceof Stop ? respond(exchange, res, admission) : await forward(context, exchange, res, admission)
    record(context, exchange, ending)
  } catch (error) {
    record(context, exchange, fail(context, exchange, res, error))
  } finally {
    end(context, exchange)
  }
}

const LEFT = left('the client left before its turn')

async function handleUpgrade(context: Context, upgrade: IncomingUpgrade): Promise<void> {
  const { socket, ambiguity } = upgrade
  const exchange = begin(context, upgrade, null)
  try {
    const turn = turnOfUpgrade(upgrade, exchange.holder.address)
    const isHere = turn instanceof Promise ? await turn : turn
    const admission = isHere ? await admit(context, exchange, ambiguity) : LEFT
    recordAdmission(context, exchange)
    const ending =
      admission instanceof Stop
        ? respondRaw(exchange, socket, admission)
        : await tunnel(context, exchange, upgrade, admission)
    record(context, exchange, ending)
  } catch (error) {
    record(context, exchange, fail(context, exchange, null, error))
    socket.destroy()
  } finally {
    end(context, exchange)
  }
}

function begin(
  context: Context,
  { req, client, requestId }: IncomingRequest | IncomingUpgrade,
  res: ServerResponse | null,
): Exchange {
  const startedAt = performance.now()
  const rules = context.rules()
  const address = addressOf(client, req.headers, rules.isProxy)
  context.inFlight++
  return {
    req,
    res,
    client,
    rules,
    requestId,
    startedAt,
    trace:
      rules.sample === null
        ? null
        : beginTrace(req.headers, requestId, rules.sample, rules.isProxy(req.socket.remoteAddress ?? '')),
    holder: context.shares.holder(address, client.isLikelyKnown(address)),
    route: null,
    unmatched: null,
    lenient: rules.names.lenient.length > 0 ? neededFor(req.rawHeaders.filter((_, i) => i % 2 === 0)) : NOTHING,
    caller: null,
    letIn: null,
    cost: 0,
    plan: null,
    exempt: null,
    settlement: null,
    isRefunded: false,
    made: null,
    finalCost: null,
  }
}

const NOTHING: readonly string[] = []

function end(context: Context, { holder }: Exchange): void {
  context.inFlight--
  holder.end()
}

/** Whatever is ambiguous is denied before anything else is looked at. */
function admit(context: Context, exchange: Exchange, ambiguity: Denial | null): Stop | Promise<Pass | Stop> {
  const full = ambiguity === null ? takePlace(context, exchange) : denied(ambiguity)
  if (full instanceof Stop) return full
  const head = takeHead(context, exchange)
  if (head === null || head instanceof Stop) return head ?? look(context, exchange)
  return weighed(head, exchange, look(context, exchange))
}

/** A long head was looked at in vain if its request is refused, and of nobody who is known. */
async function weighed(head: WeighedHead, exchange: Exchange, admission: Promise<Pass | Stop>): Promise<Pass | Stop> {
  let isInVain = false
  try {
    const result = await admission
    const { caller } = exchange
    const isOfUser = caller !== null && isVerified(caller)
    isInVain = result instanceof Stop && result.ending.outcome === 'denied' && !isOfUser
    return result
  } finally {
    head.end(isInVain)
  }
}

/** The way of every request and upgrade. */
async function look(context: Context, exchange: Exchange): Promise<Pass | Stop> {
  const planned = plan(exchange.rules, lineOf(exchange.req, exchange.res, exchange.rules))
  if (planned.kind !== 'route') return ownResponse(context, exchange, planned)
  const { target, route } = planned
  exchange.route = route
  if (target.lenient !== undefined) exchange.lenient = [...exchange.lenient, ...target.lenient]
  if (route === exchange.rules.unmatched) exchange.unmatched = target.matched
  const caller = await identify(context, exchange, route)
  if (caller instanceof Stop) return caller
  const priced = await price(context, exchange, route, target)
  if (priced instanceof Stop) return priced
  exchange.cost = priced.cost
  const noPlace = await takeUpstreamPlace(exchange)
  if (noPlace instanceof Stop) return noPlace
  const pass = { target, body: priced.body }
  const refusal = await charge(context, exchange, route, pass)
  return refusal instanceof Stop ? refusal : pass
}

async function forward(context: Context, exchange: Exchange, res: ServerResponse, pass: Pass): Promise<Ending> {
  const { req, rules, requestId } = exchange
  const cutBefore = forwardUnlessCutOff(req)
  if (cutBefore !== null) {
    refundUnreached(context, exchange, { reached: false, error: null })
    return respond(exchange, res, denied(cutBefore))
  }
  if (pass.body === null) askForBody(req, res)
  const startedAt = performance.now()
  const tap = responseCostOf(exchange)
  const places = exchange.holder
  const result = await rules.forwarder.forward({ ...outgoing(exchange, pass, tap), res, body: pass.body, tap, places })
  const upstreamMs = performance.now() - startedAt
  refundUnreached(context, exchange, result)
  if (tap !== null) await settleByResponse(context, exchange, tap, result)
  if (result.error !== null && !result.headSent) {
    writeResponse(req, res, own(exchange, failureResponse(exchange, result.error)), requestId)
  }
  const cut = result.outcome === 'aborted' ? cutOffBy(req) : null
  return cut === null
    ? forwarded(result, upstreamMs, res.statusCode)
    : cutOffEnding(cut, result, upstreamMs, res.statusCode)
}

async function tunnel(context: Context, exchange: Exchange, upgrade: IncomingUpgrade, pass: Pass): Promise<Ending> {
  const { socket, head } = upgrade
  const { observe, leases } = context
  const startedAt = performance.now()
  const { signal, close } = leases.open(exchange)
  observe({ type: 'upgrade_opened' })
  const subprotocol = answeredSubprotocol(exchange)
  const result = await exchange.rules.forwarder.upgrade({
    ...outgoing(exchange, pass, null),
    socket,
    head,
    signal,
    subprotocol,
  })
  observe({ type: 'upgrade_closed' })
  close()
  refundUnreached(context, exchange, result)
  const error = result.error !== null && !result.headSent ? forwardFailed(result.error) : null
  if (error !== null)
    writeRawResponse(socket, own(exchange, denialResponse(error)), { requestId: exchange.requestId, method: 'GET' })
  return forwarded(result, performance.now() - startedAt, error === null ? result.httpStatus : STATUS_OF[error.code])
}

/** What the forwarder needs to know of a request. @param tap writes the RateLimit fields, if the response says the cost */
function outgoing(exchange: Exchange, { target }: Pass, tap: ResponseCost | null) {
  const { req, rules, route, caller: known, letIn, settlement, requestId, trace } = exchange
  const responseHeaders = ['X-Request-Id', requestId]
  if (settlement?.kind === 'shadowed') responseHeaders.push(...SHADOW_FIELD)
  if (settlement?.kind === 'repeated') responseHeaders.push(...REPLAY_FIELD)
  if (tap === null && settlement !== null && settlement.decision !== null && rules.rateLimitFields) {
    responseHeaders.push(...rateLimitFields(settlement.charge, settlement.decision))
  }
  const caller = known !== null && isVerified(known) ? known : null
  const { parameters } = rules.credentials
  // A credential that nobody here took belongs to the upstream.
  const passCredentials = letIn !== null
  const isWhole = parameters.length === 0 || passCredentials
  const query = isWhole ? target.query : withoutParameters(target.query, parameters)
  const patience = route?.patience ?? null
  const exposed = rules.presentation?.cors?.expose ?? null
  return {
    req,
    target: target.path + query,
    caller,
    passCredentials,
    requestId,
    trace,
    patience,
    responseHeaders,
    exposed,
  }
}

/**
 * The subprotocol that the gateway itself answers with: a browser gives a WebSocket up if it offered some and none is chosen, and
 * the upstream is shown none of those that hold a credential.
 */
function answeredSubprotocol({ req, rules, letIn }: Exchange): string | null {
  const { subprotocols } = rules.credentials
  const list = req.headers['sec-websocket-protocol']
  if (subprotocols.size === 0 || list === undefined || letIn !== null) return null
  const { credentials, others } = offeredIn(list, subprotocols)
  return others.length === 0 ? (credentials[0]?.[0] ?? null) : null
}

/** Only if the upstream certainly saw nothing: anything else may have had its effect there. A denial of ours is never charged. */
function refundUnreached(
  context: Context,
  exchange: Exchange,
  { reached, error }: Pick<ForwardResult, 'reached' | 'error'>,
): void {
  const { rules, settlement } = exchange
  if (!isPaid(settlement) || reached || !(rules.refundUnreached || error === 'no_connection')) return
  exchange.isRefunded = true
  exchange.made = giveBack(context, settlement)
}

/** What a request with a key costs depends on the others of the key, some of which are still to come. */
function isCostKnown({ kind, decision }: Settlement): boolean {
  return kind === 'charged' && decision?.once === undefined
}

/** What is to find out what a charged request cost; `null` if that is known before. */
function responseCostOf({ req, rules, route, settlement }: Exchange): ResponseCost | null {
  if (route?.settle == null || !isPaid(settlement)) return null
  const { charge, decision } = settlement
  // What is given back of a request with a key depends on the others of the key: it may be nothing.
  const least = isCostKnown(settlement) ? Number.NEGATIVE_INFINITY : 0
  const rateLimit = (beyond: number) => rateLimitFields(charge, decision, Math.max(least, beyond))
  return new ResponseCost(route.settle, charge.cost, {
    isHead: req.method === 'HEAD',
    hasField: isCostKnown(settlement),
    rateLimit: rules.rateLimitFields ? rateLimit : null,
  })
}

/** Gives back what was reserved and not used, or charges what was used beyond. What was given back whole is settled. */
async function settleByResponse(
  context: Context,
  exchange: Exchange,
  tap: ResponseCost,
  result: ForwardResult,
): Promise<void> {
  const { settlement } = exchange
  if (!isPaid(settlement) || exchange.isRefunded) return
  const cost = await tap.cost(result)
  if (settlement.kind === 'charged') exchange.finalCost = cost
  exchange.made = correct(context, settlement, cost)
}

/** Instead of the upstream's response, which there is none of. */
function failureResponse({ route, isRefunded, finalCost, settlement }: Exchange, error: ForwardError): OwnResponse {
  const response = denialResponse(forwardFailed(error))
  if (settlement?.kind === 'repeated') return { ...response, headers: [...response.headers, ...REPLAY_FIELD] }
  if (settlement === null || !isCostKnown(settlement)) return response
  const tokens = isRefunded && route?.settle != null ? 0 : finalCost?.tokens
  return tokens === undefined ? response : { ...response, headers: [...response.headers, ...chargedField(tokens)] }
}

function respond(exchange: Exchange, res: ServerResponse, { response, ending }: Stop): Ending {
  if (response !== null) writeResponse(exchange.req, res, own(exchange, response), exchange.requestId)
  return ending
}

function respondRaw(exchange: Exchange, socket: Duplex, { response, ending }: Stop): Ending {
  if (response !== null)
    writeRawResponse(socket, own(exchange, response), {
      requestId: exchange.requestId,
      method: exchange.req.method ?? null,
    })
  return ending
}

/** A response of the gateway's own, as the configuration presents it. */
function own({ req, rules, caller, requestId }: Exchange, response: OwnResponse): OwnResponse {
  if (rules.presentation === null) return response
  return presented(rules.presentation, response, askedBy(req, requestId, caller?.user ?? null))
}

/** A fault of ours. */
function fail({ observe }: Context, exchange: Exchange, res: ServerResponse | null, error: unknown): Ending {
  observe({ type: 'internal_error', where: 'gateway', error })
  const { response, ending } = denied(internal())
  if (res?.headersSent === false && response !== null)
    writeResponse(exchange.req, res, own(exchange, response), exchange.requestId)
  else res?.destroy()
  return ending
}
