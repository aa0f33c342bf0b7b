import { type Caller, type CheckPlaces, isMissing } from '../auth/authenticator.ts'
import { isVerified } from '../auth/verdict.ts'
import { beginningOf, ClientLeft, isReadWhole, readBody, readIfShort } from '../edge/body/read-body.ts'
import { exhausted, overloaded, tooManyFailed, tooManyInVain } from '../edge/denials.ts'
import { USUAL_METHODS } from '../edge/head-rules.ts'
import { TEXT_BYTES } from '../edge/request-turn.ts'
import type { Exhausted } from '../edge/shares.ts'
import { type Denial, isDenial } from '../errors.ts'
import type { Price } from '../inputs/price.ts'
import { householdOf } from '../lib/peers.ts'
import { withoutParameters } from '../lib/query-parameters.ts'
import type { Decision } from '../quota/charge.ts'
import { StoreError } from '../quota/quota-store.ts'
import { snapshotFields } from '../quota/ratelimit-fields.ts'
import { quotaStatus } from '../quota/status.ts'
import { awaitsContinue, hasBody, SMALL } from '../respond/announced-body.ts'
import { preflightResponse } from '../respond/cors.ts'
import { statusResponse } from '../respond/response.ts'
import { priceOf } from '../routing/price.ts'
import type { Target } from '../routing/target.ts'
import { callerByAddress } from './client-address.ts'
import type { Exchange, Given } from './context.ts'
import { exemptionOf } from './exemption.ts'
import type { FailedChecks } from './failed-checks.ts'
import { costsAnything, type FurtherMeter, firstCategory, withMeters } from './meters.ts'
import { answered, denied, left, refused, resultOf, Stop } from './outcome.ts'
import { type Plan, queryRefusal } from './plan.ts'
import { isKnownByBody, onceOf, severalKeys } from './repetition.ts'
import { refusalOf, storeUnavailable, unknownYet } from './responses.ts'
import { exempted, isShadowed, type Order, type Settlement, unpriced } from './settlement.ts'
import type { Route, RouteTariff } from './snapshot.ts'

/** The single steps of admission. gateway.ts has their order. Each returns its result or a Stop. */

/** Takes a place among the requests or tunnels under way. */
export function takePlace({ context, req, res, rules, holder }: Exchange): Stop | null {
  if (context.lag() > rules.maxLagMs) return denied(overloaded('event loop'))
  const full = holder.take('in_flight', rules.shares) ?? holder.take(kindOf(res), rules.shares)
  return stopIf(full, req)
}

function kindOf(res: Exchange['res']): 'tunnels' | 'requests' {
  return res === null ? 'tunnels' : 'requests'
}

/**
 * A head is long above so many bytes: those of the target, the cookies and the credential, and `TEXT_BYTES` for each name and value. Usual
 * heads are shorter. Many fields make a long head by themselves.
 */
const LONG_HEAD = 2048
/** How many of these bytes count as a tenth of a millisecond. An address may so have 1000 heads of 8 KiB at once, and then 250 a second. */
const BYTES_A_TENTH = 4096

/**
 * Looking at a long head takes time. If many long heads of an address were looked at in vain, its next long heads are denied unseen, unless
 * a credential of the client was accepted before.
 * @returns an object whose `end` must be called when it is known whether looking was in vain; `null` for a head that costs nothing
 */
export function takeHead({ context, req, client, holder }: Exchange): WeighedHead | Stop | null {
  const { url = '', headers, rawHeaders } = req
  const ofFields = rawHeaders.length * TEXT_BYTES
  const bytes = url.length + (headers.cookie?.length ?? 0) + (headers.authorization?.length ?? 0) + ofFields
  if (bytes <= LONG_HEAD || client.isLikelyKnown(holder.address)) return null
  const cost = Math.ceil(bytes / BYTES_A_TENTH)
  const reservation = context.failedChecks.reservation(holder.address)
  if (!reservation.take(cost)) return denied(tooManyInVain())
  return { end: (isInVain) => reservation.end(isInVain ? cost : 0) }
}

export interface WeighedHead {
  end(isInVain: boolean): void
}

function stopIf(full: Exhausted | null, { headers }: Exchange['req']): Stop | null {
  return full === null ? null : denied(exhausted(full, headers.accept))
}

/** The gateway's own response, or why no rule serves the request. */
export function ownResponse(exchange: Exchange, plan: Exclude<Plan, { kind: 'route' }>) {
  switch (plan.kind) {
    case 'refused':
      return denied(plan.refusal.denial)
    case 'options':
      return OPTIONS
    case 'status':
      return status(exchange)
    case 'usage':
      return usage(exchange, plan.target)
    case 'document':
      return publicDocument(exchange, plan.target)
    case 'page':
      return referencePage(exchange, plan.target)
    case 'preflight':
      return preflight(exchange, plan.methods)
    case 'unmatched':
      exchange.unmatched = plan.target.matched
      return denied(plan.refusal.denial)
  }
}

/** The response to OPTIONS of the last server in a chain (RFC 9110 section 9.3.7). */
const OPTIONS = answered({ status: 204, headers: ['Allow', USUAL_METHODS], body: '' })

/** Responds whether a page may send the request that it wants to send. */
function preflight({ req: { headers }, rules }: Exchange, methods: readonly string[]): Stop {
  const fields = String(headers['access-control-request-headers'] ?? '')
  const cors = rules.presentation?.cors
  if (cors == null) throw new Error('planned a preflight without rules for it')
  return answered(preflightResponse(cors, { origin: headers.origin ?? '', fields, methods }))
}

/** A document for everybody, for which no credential is read. */
async function publicDocument({ req, rules }: Exchange, { matched: path }: Target): Promise<Stop> {
  const document = rules.documents.get(path)
  if (document === undefined) throw new Error(`planned a document that is none: ${path}`)
  const response = await document(req.headers)
  return response === null ? denied(unknownYet()) : answered(response)
}

/** A page of the API reference, for which no credential is read. */
function referencePage({ req, rules }: Exchange, { matched: path }: Target): Stop {
  const response = rules.reference?.response(path, req.headers)
  if (response == null) throw new Error(`planned a page that is none: ${path}`)
  return answered(response)
}

/** `GET /me/quota` identifies its caller and is never charged. */
async function status(exchange: Exchange): Promise<Stop> {
  const caller = await callerOf(exchange, exchange.rules.callers.anonymousStatus)
  if (caller instanceof Stop) return caller
  const policy = exchange.rules.policy()
  try {
    const [snapshot] = await Promise.all([
      exchange.context.store.readUsage(caller.user, policy.countedOf(caller), caller.organisation),
      exchange.context.knownUsers.lookUp(caller.user),
    ])
    const isExempt = exemptionOf(exchange.rules, exchange, caller) !== null
    const status = {
      ...quotaStatus(policy, snapshot, caller, exchange.rules.ahead()),
      ...(isExempt && { exempt: true as const }),
    }
    return answered(statusResponse(status, snapshotFields(policy, snapshot, caller)))
  } catch (error) {
    if (error instanceof StoreError) return denied(storeUnavailable(error))
    throw error
  }
}

/** `GET /me/usage` identifies its caller and is never charged. A client that reads the response slowly holds no place meanwhile. */
async function usage(exchange: Exchange, { query }: Target): Promise<Stop> {
  const { rules, holder, req } = exchange
  const caller = await callerOf(exchange, rules.callers.anonymousStatus)
  if (caller instanceof Stop) return caller
  const parameters = new URLSearchParams(withoutParameters(query, rules.credentials.parameters))
  const full = stopIf(holder.take('usage', rules.shares), req)
  if (full !== null) return full
  try {
    const response = await exchange.context.ownUsage({ caller, parameters, policy: rules.policy(), rules: rules.usage })
    return isDenial(response) ? denied(response) : answered(response)
  } catch (error) {
    if (error instanceof StoreError) return denied(storeUnavailable(error))
    throw error
  } finally {
    holder.give('usage')
  }
}

/** Identifies the caller, except on a public route. After that, all that the request holds counts for its user, or else for a stranger. */
export function identify(
  exchange: Exchange,
  { tariff, anonymous }: Route,
): Caller | Stop | null | Promise<Caller | Stop> {
  const { holder, rules, req } = exchange
  if (tariff === null) return stopIf(holder.identify(null, false, rules.shares), req)
  const said = exchange.given?.caller ?? null
  return said === null ? callerOf(exchange, anonymous) : takeCaller(exchange, said, anonymous)
}

/** Identifies the caller by the credential. A remembered credential, which is the usual case, gives a result at once and no promise. */
function callerOf(exchange: Exchange, anonymous: boolean): Caller | Stop | Promise<Caller | Stop> {
  const resolved = resolve(exchange)
  return resolved instanceof Promise
    ? checkedCaller(exchange, resolved, anonymous)
    : takeCaller(exchange, resolved, anonymous)
}

async function checkedCaller(
  exchange: Exchange,
  resolved: Promise<Caller | Denial>,
  anonymous: boolean,
): Promise<Caller | Stop> {
  const found = await checked(exchange, resolved)
  return found instanceof Stop ? found : takeCaller(exchange, found, anonymous)
}

function takeCaller(exchange: Exchange, found: Caller | Denial, anonymous: boolean): Caller | Stop {
  const { holder, rules, req, res, client } = exchange
  const caller = noteCaller(exchange, found, anonymous)
  if (caller instanceof Stop) return caller
  const isAccepted = isVerified(caller)
  if (isAccepted) client.accepted(holder.address)
  const full = holder.identify(caller.user, isAccepted, rules.shares) ?? holder.take(kindOf(res), rules.shares)
  return stopIf(full, req) ?? caller
}

/**
 * While a credential is still to be checked, its request takes no place among those under way, because the bound of strangers does not
 * apply to it yet.
 */
async function checked(
  { holder, rules, req, res }: Exchange,
  resolved: Promise<Caller | Denial>,
): Promise<Caller | Denial | Stop> {
  const full = stopIf(holder.take('credentials', rules.shares), req)
  if (full !== null) return full
  holder.give(kindOf(res))
  const found = await resolved
  holder.give('credentials')
  return found
}

function resolve(exchange: Exchange) {
  return exchange.rules.callers.resolve(exchange, () => placesOf(exchange, exchange.context.failedChecks))
}

/** Identifies the caller by the credential, or else by the address, as `callerByAddress` allows it. */
function noteCaller(exchange: Exchange, found: Caller | Denial, anonymous: boolean): Caller | Stop {
  const caller = isDenial(found) ? callerByAddress(exchange.rules, exchange, found, anonymous) : found
  if (isDenial(caller)) return denied(caller)
  if (isDenial(found) && !(anonymous && isMissing(found))) exchange.letIn = found
  exchange.caller = caller
  return caller
}

/** Bounds checks: each address has a share of all long checks, and fewer costly ones if many of its checks were in vain. */
function placesOf({ req, rules, holder }: Exchange, failed: FailedChecks): CheckPlaces {
  const { address } = holder
  const reservation = failed.reservation(address)
  return {
    party: address === null ? '' : householdOf(address),
    enter(cost, isLong) {
      if (!reservation.take(cost)) return tooManyFailed()
      const full = isLong ? holder.take('checks', rules.shares) : null
      return full === null ? null : exhausted(full, req.headers.accept)
    },
    leave(spent) {
      holder.give('checks')
      reservation.end(spent)
    },
  }
}

/** Finds the cost in each meter. A public route costs nothing. */
export function price(exchange: Exchange, route: Route, target: Target): Stop | null | Promise<Stop | null> {
  const { tariff } = route
  const said = exchange.given?.charges ?? null
  if (said !== null && tariff !== null) {
    takeSaid(exchange, said)
    return null
  }
  if (tariff?.isAsked) return priceAsked(exchange, route, tariff, target)
  if (hasBody(exchange.req)) return priceBehindBody(exchange, route, tariff)
  if (tariff !== null) takeCosts(exchange, tariff, '')
  return null
}

/** Takes the costs that the service names instead of those of the rule. */
function takeSaid(exchange: Exchange, [first, ...others]: NonNullable<Given['charges']>): void {
  exchange.cost = first?.[1] ?? 0
  if (others.length === 0) return
  exchange.others = others.map(([category, cost]) => {
    const rule = { category, price: { kind: 'fixed', cost }, settle: null } as const
    return { rule, cost, made: null, finalCost: null }
  })
}

/** @param tariff `null` for a route without a charge */
async function priceBehindBody(exchange: Exchange, route: Route, tariff: RouteTariff | null): Promise<Stop | null> {
  const body = await earlyBody(exchange, route)
  if (body instanceof Stop) return body
  exchange.body = body
  if (tariff !== null) takeCosts(exchange, tariff, '')
  return null
}

/** Finds prices that depend on the request, after the credential, because a stranger must not make this expensive. */
function priceAsked(
  exchange: Exchange,
  route: Route,
  tariff: RouteTariff,
  target: Target,
): Stop | null | Promise<Stop | null> {
  const { req, res } = exchange
  // The query is checked before the body, which need not be read if the query is refused.
  const refusal = queryRefusal(route, target)
  if (refusal !== null) {
    if (!letThrough(exchange, route, refusal.denial)) return denied(refusal.denial)
    return hasBody(req) ? priceBehindBody(exchange, route, null) : null
  }
  const { maxBody } = tariff
  if (maxBody !== null) {
    const body = awaited(exchange, () => readBody(req, res, maxBody))
    return askedBehindBody(exchange, route, tariff, target, body)
  }
  if (hasBody(req)) return askedBehindBody(exchange, route, tariff, target, earlyBody(exchange, route))
  return ask(exchange, route, tariff, target)
}

async function askedBehindBody(
  exchange: Exchange,
  route: Route,
  tariff: RouteTariff,
  target: Target,
  awaitedBody: Promise<Buffer | Stop | null>,
): Promise<Stop | null> {
  const body = await awaitedBody
  if (body instanceof Stop) return body
  exchange.body = body
  return ask(exchange, route, tariff, target)
}

function ask(exchange: Exchange, route: Route, tariff: RouteTariff, { query }: Target): Stop | null {
  const refused = takeCosts(exchange, tariff, query)
  return refused !== null && !letThrough(exchange, route, refused) ? denied(refused) : null
}

/** @returns why a meter has no price, so that the request costs nothing */
function takeCosts(exchange: Exchange, { price, others }: RouteTariff, query: string): Denial | null {
  const cost = costOf(exchange, price, query)
  if (typeof cost !== 'number') return cost
  if (others !== null) {
    const further: FurtherMeter[] = []
    for (const rule of others) {
      const of = costOf(exchange, rule.price, query)
      if (typeof of !== 'number') return of
      further.push({ rule, cost: of, made: null, finalCost: null })
    }
    exchange.others = further
  }
  exchange.cost = cost
  return null
}

function costOf(exchange: Exchange, price: Price, query: string): number | Denial {
  if (price.kind === 'fixed') return price.cost
  const { req, body } = exchange
  const priced = priceOf(price, { body, query, rawHeaders: req.rawHeaders, length: lengthOf(exchange) })
  return isDenial(priced) ? priced : priced.cost
}

/** The length of the body in bytes; `null` if it is in chunks and was not read, or if a proxy that asks may have kept it. */
function lengthOf({ req, body, context, given }: Exchange): number | null {
  const { headers, method = '' } = req
  if (body === null && headers['transfer-encoding'] !== undefined) return null
  const length = body?.length ?? Number(headers['content-length'] ?? 0)
  const isAskedOf = context.decides !== undefined && given === null
  return length === 0 && isAskedOf && !WITHOUT_BODY.has(method) ? null : length
}

/** RFC 9110 section 9.3 defines no meaning for a body of these methods. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE'])

/** Shadow refuses nobody, even if a request has no price. A body above the bound is refused all the same. @returns whether the request goes on */
function letThrough(exchange: Exchange, route: Route, { code, reason = '' }: Denial): boolean {
  const { rules, caller } = exchange
  const policy = rules.policy()
  if (
    code !== 'bad_request' ||
    caller === null ||
    route.tariff === null ||
    !isShadowed(rules, route, caller.user, policy)
  )
    return false
  const { category } = route.tariff
  const plan = policy.planOf(caller)
  const order = { rules, route, caller, plan, category, cost: 0, once: null, accept: undefined }
  exchange.settlement = unpriced(exchange.context, order, reason)
  return true
}

/** The body if it must be read before the charge. A body in chunks is checked even if it need not be read. */
async function earlyBody(exchange: Exchange, route: Route): Promise<Buffer | Stop | null> {
  const { req, res, rules } = exchange
  const isInChunks = req.headers['transfer-encoding'] !== undefined
  const isKeyed = isKnownByBody(exchange, route)
  const short = Math.max(rules.unchunk, isKeyed ? SMALL : 0)
  if (isInChunks && rules.maxBody === null && short > 0) return awaited(exchange, () => readIfShort(req, res, short))
  if (isReadWhole(req, rules.maxBody) || (awaitsContinue(req) && isKeyed)) {
    return awaited(exchange, () => readBody(req, res, rules.maxBody ?? Number.POSITIVE_INFINITY))
  }
  return isInChunks ? beginningOf(req).then(resultOf, leftEarly) : null
}

/** While a body is awaited, its request takes no place among those under way. */
async function awaited<T extends Buffer | null>(
  exchange: Exchange,
  body: () => Promise<T | Denial>,
): Promise<T | Stop> {
  const { req, rules, holder, route } = exchange
  // Nearly no GET has a body, and nothing is charged for it here, so the request keeps its place while its body is read.
  if (route?.tariff === null && req.method === 'GET') return body().then(resultOf, leftEarly)
  const tooMany = stopIf(holder.take('bodies', rules.shares), req)
  if (tooMany !== null) return tooMany
  holder.give('requests')
  const read = await body().then(resultOf, leftEarly)
  holder.give('bodies')
  if (read instanceof Stop) return read
  return stopIf(holder.take('requests', rules.shares), req) ?? read
}

function leftEarly(error: unknown): Stop {
  if (error instanceof ClientLeft) return left('the client left while its body was read')
  throw error
}

/**
 * Takes a place among the connections to the upstream before anything is charged. A tunnel does not need one. If an address or
 * user holds its whole share already, the request waits for another request of its own to end, for `queueTimeoutMs` at most.
 */
export function takeUpstreamPlace({ req, res, rules, holder }: Exchange): Stop | null | Promise<Stop | null> {
  if (res === null) return null
  const full = holder.takeWithin('upstream_connections', rules.shares, rules.queueTimeoutMs)
  return full instanceof Promise ? placeAwaited(full, req) : stopIf(full, req)
}

async function placeAwaited(full: Promise<Exhausted | null>, req: Exchange['req']): Promise<Stop | null> {
  return stopIf(await full, req)
}

/** The charge for the request; `null` for none, for example if the caller is exempt. */
export function orderOf(exchange: Exchange, route: Route): Order | Stop | null {
  const { req, rules, caller, cost } = exchange
  if (route.tariff === null || caller === null || !costsAnything(exchange)) return null
  const twoKeys = severalKeys(exchange, route)
  if (twoKeys !== null) return denied(twoKeys)
  const exempt = exemptionOf(rules, exchange, caller)
  const plan = rules.policy().planOf(caller)
  exchange.exempt = exempt
  exchange.plan = plan
  const category = firstCategory(exchange, route.tariff)
  const once = exempt === null ? onceOf(exchange, route) : null
  const { accept } = req.headers
  const own = { rules, route, caller, plan, category, cost, once, accept }
  const order = exchange.others === undefined ? own : withMeters(own, exchange.others)
  if (exempt === null) return order
  exempted(exchange.context, order, exempt)
  return null
}

/** Handles the result of the charge. A refusal of the quota stops the request, unless it is in shadow. */
export function takeSettlement(exchange: Exchange, settlement: Settlement | Denial): Stop | null {
  if (isDenial(settlement)) return denied(settlement)
  exchange.settlement = settlement
  if (settlement.kind !== 'refused') return null
  const { req, rules, caller } = exchange
  const { charge, decision } = settlement
  return refused(refusalOf(caller as Caller, charge, decision as Decision, rules, req.headers.accept).response)
}
