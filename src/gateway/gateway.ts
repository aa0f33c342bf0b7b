import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Caller } from '../auth/authenticator.ts'
import { ClientLeft } from '../edge/body/read-body.ts'
import { cutOffBy, forwardUnlessCutOff } from '../edge/cut-off.ts'
import { exhausted, overloaded } from '../edge/denials.ts'
import { checkEdge, checkUpgrade, isLastOnConnection } from '../edge/head-rules.ts'
import type { RequestHandler } from '../edge/listener.ts'
import { requestIdOf } from '../edge/request-id.ts'
import type { Shares } from '../edge/shares.ts'
import { isBehindOthers, turnOf } from '../edge/turn.ts'
import { type Denial, STATUS_OF } from '../errors.ts'
import type { ForwardResult } from '../forward/contract.ts'
import type { Observer } from '../observe/observation.ts'
import type { Charge, Decision } from '../quota/charge.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import type { QuotaStore } from '../quota/quota-store.ts'
import { type Scope, violations } from '../quota/refusal.ts'
import { awaitsContinue } from '../respond/announced-body.ts'
import { readToNowhere } from '../respond/raw.ts'
import { denialResponse, rateLimitFields, SHADOW_FIELD, writeRawResponse, writeResponse } from '../respond/response.ts'
import type { Target } from '../routing/target.ts'
import { createAddressOf } from './client-address.ts'
import { type Admission, denied, type Exchange, type Pass, type ShadowRefusal, type Stop } from './context.ts'
import { createFailedChecks } from './failed-checks.ts'
import { forwardFailed, internal } from './failure-denials.ts'
import { createOneAddress, ONE_ADDRESS } from './one-address.ts'
import { clientLeft, cutOffEnding, deniedEnding, type Ending, forwarded, responseOf, stopped } from './outcome.ts'
import { plan } from './plan.ts'
import { refusalOf } from './refusal.ts'
import type { Rules } from './snapshot.ts'
import {
  earlyBody,
  identify,
  isShadowed,
  lineOf,
  OPTIONS,
  price,
  referencePage,
  status,
  undecided,
  upstreamPlace,
} from './steps.ts'
import { createLeases } from './tunnel-leases.ts'
import { voiceOf } from './voice.ts'

export interface GatewayOptions {
  /** The configuration in force; asked once for each request. */
  readonly rules: () => Rules
  readonly ledger: Pick<Ledger, 'charge' | 'refund'>
  readonly store: Pick<QuotaStore, 'standing'>
  readonly observe: Observer
  /** How late the event loop lastingly is, in milliseconds. */
  readonly lag: () => number
  readonly shares: Shares
}

export interface Gateway extends RequestHandler {
  /** The address that brings nearly all requests, and looks like a load balancer that is not trusted; else `null`. */
  oneAddress(): string | null
}

export function createGateway({ rules, ledger, store, observe, lag, shares }: GatewayOptions): Gateway {
  const addressOf = createAddressOf()
  const failedChecks = createFailedChecks()
  const leases = createLeases({ rules, ledger, observe })
  const oneAddress = createOneAddress((address) => observe({ type: 'one_address', address, text: ONE_ADDRESS }))
  let inFlight = 0
  /** What follows something ambiguous, or an upgrade that was not taken up, may be a part of it. */
  const distrusted = new WeakSet<object>()

  async function handle(req: IncomingMessage, res: ServerResponse, requestId: string): Promise<void> {
    if (distrusted.has(req.socket)) return void req.resume()
    const ambiguity = checkEdge(req)
    if (isLastOnConnection(req)) res.shouldKeepAlive = false
    if (ambiguity !== null || isLastOnConnection(req)) distrusted.add(req.socket)
    const exchange = begin(req, res, requestId)
    try {
      if (isBehindOthers(res)) await turnOf(res)
      if (res.destroyed || res.socket === null) return record(exchange, clientLeft('the client left before its turn'))
      const admission = await admit(exchange, ambiguity)
      if (admission.kind === 'pass') record(exchange, await forward(exchange, res, admission.pass))
      else record(exchange, response(exchange, res, admission))
    } catch (error) {
      record(exchange, fail(exchange, res, error))
    } finally {
      end(exchange)
    }
  }

  async function handleUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => {}) // a reset while we decide; its close event says the rest
    if (distrusted.has(socket)) return readToNowhere(socket)
    const exchange = begin(req, null, requestIdOf(req, rules().isProxy))
    try {
      const admission = await admit(exchange, checkUpgrade(req))
      if (admission.kind === 'pass') record(exchange, await tunnel(exchange, socket, head, admission.pass))
      else record(exchange, responseRaw(exchange, socket, admission))
    } catch (error) {
      record(exchange, fail(exchange, null, error))
      socket.destroy()
    } finally {
      end(exchange)
    }
  }

  function begin(req: IncomingMessage, res: ServerResponse | null, requestId: string): Exchange {
    const startedAt = performance.now()
    const inForce = rules()
    const exchange = {
      req,
      res,
      rules: inForce,
      requestId,
      startedAt,
      holder: shares.holder(addressOf(req, inForce.isProxy)),
      route: null,
      caller: null,
      cost: 0,
      shadowed: false,
    }
    inFlight++
    return exchange
  }

  function end({ holder }: Exchange): void {
    inFlight--
    holder.end()
  }

  /** The way of every request and upgrade. Whatever is ambiguous is refused before a credential is looked at. */
  async function admit(exchange: Exchange, ambiguity: Denial | null): Promise<Admission> {
    const { req, res, rules, holder } = exchange
    if (ambiguity !== null) return denied(ambiguity)
    if (lag() > rules.maxLagMs) return denied(overloaded('event loop'))
    const full =
      holder.take('in_flight', rules.shares) ?? holder.take(res === null ? 'tunnels' : 'requests', rules.shares)
    if (full !== null) return denied(exhausted(full, req.headers.accept))
    const planned = plan(rules, lineOf(exchange))
    if (planned.kind === 'refused') return denied(planned.refusal.denial)
    if (planned.kind === 'options') return OPTIONS
    const { target } = planned
    if (planned.kind === 'status') return status(exchange, store, failedChecks)
    if (planned.kind === 'page') return referencePage(exchange, target)
    if (planned.kind === 'unmatched' || planned.route === rules.unmatched) reportUnmatched(req, target)
    if (planned.kind === 'unmatched') return denied(planned.refusal.denial)
    const { route } = planned
    exchange.route = route
    if (route.charged === null) {
      const body = await earlyBody(exchange)
      if (body !== null && 'code' in body) return denied(body)
      const noPlace = upstreamPlace(exchange)
      const denial = noPlace instanceof Promise ? await noPlace : noPlace
      return denial === null ? pass({ target, body, charged: null, shadowed: null }) : denied(denial)
    }
    const identified = identify(exchange, failedChecks)
    const caller = identified instanceof Promise ? await identified : identified
    if ('code' in caller) return denied(caller)
    exchange.caller = caller
    const tooMany = holder.identify(caller.user, rules.shares)
    if (tooMany !== null) return denied(exhausted(tooMany, req.headers.accept))
    const pricing = price(exchange, route.charged.price)
    const priced = pricing instanceof Promise ? await pricing : pricing
    if ('code' in priced) return denied(priced)
    const { cost, body } = priced
    exchange.cost = cost
    const noPlace = upstreamPlace(exchange)
    const denial = noPlace instanceof Promise ? await noPlace : noPlace
    if (denial !== null) return denied(denial)
    if (cost === 0) return pass({ target, body, charged: null, shadowed: null })

    const { category } = route.charged
    const policy = rules.policy()
    const charge: Charge = { user: caller.user, category, cost, limits: policy.limitsFor(category, caller.user) }
    const decision = await ledger.charge(charge).catch(undecided)
    const isDecided = !('code' in decision)
    if (isDecided && decision.accepted) {
      return pass({ target, body, charged: charged(charge, decision), shadowed: null })
    }
    if (isShadowed(exchange, caller.user, policy)) {
      const shadowed = letThrough(exchange, { charge, decision: isDecided ? decision : null })
      return pass({ target, body, charged: null, shadowed })
    }
    return isDecided ? refused(exchange, charge, decision) : denied(decision)
  }

  function reportUnmatched({ method = '' }: IncomingMessage, { path }: Target): void {
    observe({ type: 'unmatched', method, path })
  }

  function charged(charge: Charge, decision: Decision): Pass['charged'] {
    observe({ type: 'tokens_charged', category: charge.category, cost: charge.cost })
    return { charge, decision }
  }

  function letThrough(exchange: Exchange, refusal: ShadowRefusal): ShadowRefusal {
    exchange.shadowed = true
    observe({ type: 'shadow_refusal', category: refusal.charge.category, scope: scopeOf(refusal) })
    return refusal
  }

  function refused({ req, rules }: Exchange, charge: Charge, decision: Decision): Stop {
    const { response, scope } = refusalOf(charge, decision, rules.timeZone, req.headers.accept)
    observe({ type: 'quota_refusal', category: charge.category, scope: SCOPES[scope] })
    return { kind: 'refused', response }
  }

  async function forward(exchange: Exchange, res: ServerResponse, pass: Pass): Promise<Ending> {
    const { req, rules, requestId } = exchange
    const refused = forwardUnlessCutOff(req)
    if (refused !== null) {
      refundUnreached(exchange, pass, { reached: false, error: null })
      return response(exchange, res, denied(refused))
    }
    if (pass.body === null && awaitsContinue(req)) res.writeContinue()
    const startedAt = performance.now()
    const result = await rules.forwarder.forward(outgoing(exchange, pass, { res, body: pass.body }))
    refundUnreached(exchange, pass, result)
    if (result.error !== null && !result.headSent) {
      writeResponse(req, res, denialResponse(forwardFailed(result.error)), requestId)
    }
    const upstreamMs = performance.now() - startedAt
    const cut = result.outcome === 'aborted' ? cutOffBy(req) : null
    return cut === null
      ? forwarded(result, upstreamMs, res.statusCode)
      : cutOffEnding(cut, result, upstreamMs, res.statusCode)
  }

  async function tunnel(exchange: Exchange, socket: Duplex, head: Buffer, pass: Pass): Promise<Ending> {
    const startedAt = performance.now()
    const lease = leases.open(exchange)
    observe({ type: 'upgrade_opened' })
    const result = await exchange.rules.forwarder.upgrade(
      outgoing(exchange, pass, { socket, head, signal: lease.signal }),
    )
    observe({ type: 'upgrade_closed' })
    lease.close()
    refundUnreached(exchange, pass, result)
    const error = result.error !== null && !result.headSent ? forwardFailed(result.error) : null
    if (error !== null) writeRawResponse(socket, denialResponse(error), exchange.requestId)
    return forwarded(result, performance.now() - startedAt, error === null ? result.httpStatus : STATUS_OF[error.code])
  }

  function outgoing<T>({ req, rules, caller, requestId }: Exchange, { target, charged, shadowed }: Pass, where: T) {
    const responseHeaders = ['X-Request-Id', requestId]
    if (shadowed !== null) responseHeaders.push(...SHADOW_FIELD)
    const decided = charged ?? shadowed
    if (decided !== null && decided.decision !== null && rules.rateLimitFields) {
      responseHeaders.push(...rateLimitFields(decided.charge, decided.decision))
    }
    const user = caller?.user ?? null
    return { ...where, req, target: target.path + target.query, user, requestId, responseHeaders }
  }

  /**
   * Only where the backend certainly saw nothing: anything else may have had its effect there. A refusal of ours is never
   * charged.
   */
  function refundUnreached(
    { rules }: Exchange,
    { charged }: Pass,
    { reached, error }: Pick<ForwardResult, 'reached' | 'error'>,
  ): void {
    if (charged === null || reached || !(rules.refundUnreached || error === 'no_connection')) return
    ledger.refund(charged)
    observe({ type: 'tokens_refunded', category: charged.charge.category, cost: charged.charge.cost })
  }

  function response({ req, requestId }: Exchange, res: ServerResponse, stop: Stop): Ending {
    writeResponse(req, res, responseOf(stop), requestId)
    return stopped(stop)
  }

  function responseRaw({ requestId }: Exchange, socket: Duplex, stop: Stop): Ending {
    writeRawResponse(socket, responseOf(stop), requestId)
    return stopped(stop)
  }

  /** A client that left while its body was read, or a fault of ours. */
  function fail({ req, requestId }: Exchange, res: ServerResponse | null, error: unknown): Ending {
    if (error instanceof ClientLeft) return clientLeft('the client left while its body was read')
    observe({ type: 'internal_error', where: 'gateway', error })
    if (res?.headersSent === false) writeResponse(req, res, denialResponse(internal()), requestId)
    else res?.destroy()
    return deniedEnding(internal())
  }

  function noteAddress({ socket, headers }: IncomingMessage, caller: Caller | null): void {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || rules().isProxy(remoteAddress)) return
    const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
    oneAddress.note(remoteAddress, caller?.user ?? null, isForwarded)
  }

  /** The last step of every request, good or bad. */
  function record(exchange: Exchange, ending: Ending): void {
    const { req, route, caller, cost, shadowed, requestId, startedAt } = exchange
    noteAddress(req, caller)
    // The rest first: behind other fields V8 copies it one by one, which takes 0.3 us.
    observe({
      ...ending,
      type: 'request',
      requestId,
      user: caller?.user ?? null,
      method: req.method ?? '',
      route: route?.match ?? null,
      category: route?.charged?.category ?? null,
      cost,
      shadowed,
      voice: voiceOf(exchange),
      durationMs: performance.now() - startedAt,
    })
  }

  return {
    handle,
    handleUpgrade,
    inFlight: () => inFlight,
    oneAddress: oneAddress.suspect,
    distrusts: (connection) => distrusted.has(connection),
  }
}

const SCOPES = { Personal: 'personal', Global: 'global' } as const satisfies Record<Scope, string>

/** The scope of the window that a 429 would have named. */
function scopeOf({ charge, decision }: ShadowRefusal): 'personal' | 'global' | 'store' {
  const worst = decision === null ? undefined : violations(charge, decision)[0]
  return worst === undefined ? 'store' : SCOPES[worst.scope]
}

function pass(pass: Pass): Admission {
  return { kind: 'pass', pass }
}
