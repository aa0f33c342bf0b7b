import type { Caller, CheckPlaces } from '../auth/authenticator.ts'
import { beginningOf, isReadWhole, readBody } from '../edge/body/read-body.ts'
import { exhausted, overloaded, tooManyFailed } from '../edge/denials.ts'
import { isLastHop, targetOf, USUAL_METHODS } from '../edge/head-rules.ts'
import type { Denial } from '../errors.ts'
import { LedgerFull } from '../quota/ledger/ledger-contract.ts'
import type { Policy } from '../quota/policy.ts'
import { type QuotaStore, StoreError } from '../quota/quota-store.ts'
import { standingFields } from '../quota/ratelimit.ts'
import { quotaStatus } from '../quota/status.ts'
import { statusResponse } from '../respond/response.ts'
import { type BodyPrice, type Price, priceOfBody } from '../routing/price.ts'
import type { Target } from '../routing/target.ts'
import { denied, type Exchange, type Stop } from './context.ts'
import type { FailedChecks } from './failed-checks.ts'
import { storeUnavailable } from './failure-denials.ts'
import type { RequestLine } from './plan.ts'

/** The steps of admission, each on its own: their order is written in gateway.ts. */

/** What the head says about where the request goes. */
export function lineOf({ req, res }: Exchange): RequestLine {
  const { method = '', headers } = req
  const bodyBytes = Number(headers['content-length'] ?? 0)
  return { method, target: targetOf(req), bodyBytes, isUpgrade: res === null, isLastHop: isLastHop(req) }
}

/** What the gateway answers for itself as the last one of a chain (RFC 9110 section 9.3.7). */
export const OPTIONS: Stop = Object.freeze({
  kind: 'answered',
  response: { status: 204, headers: ['Allow', USUAL_METHODS], body: '' },
})

/** What is known at once, as it nearly always is, or after something was waited for. */
export type Later<T> = T | Promise<T>

export function identify(exchange: Exchange, failed: FailedChecks): Later<Caller | Denial> {
  const { req, rules } = exchange
  return rules.authenticator.authenticate(req.headers.authorization, () => placesOf(exchange, failed))
}

/** Of all checks that take long an address has a share, and of those that cost much fewer where many of its own were for nothing. */
function placesOf({ req, rules, holder }: Exchange, failed: FailedChecks): CheckPlaces {
  return {
    enter(isLong) {
      const seconds = failed.wait(holder.address)
      if (seconds > 0) return tooManyFailed(seconds)
      const full = isLong ? holder.take('checks', rules.shares) : null
      return full === null ? null : exhausted(full, req.headers.accept)
    },
    leave(spent) {
      holder.give('checks')
      failed.note(holder.address, spent)
    },
  }
}

/** A cost, and the body of the request where that had to be read. */
export interface Priced {
  readonly cost: number
  readonly body: Buffer | null
}

export function price(exchange: Exchange, price: Price): Later<Priced | Denial> {
  if (price.kind === 'body') return priceByBody(exchange, price)
  const body = earlyBody(exchange)
  if (body === null) return { cost: price.cost, body }
  return body.then((body) => (body !== null && 'code' in body ? body : { cost: price.cost, body }))
}

async function priceByBody(exchange: Exchange, price: BodyPrice): Promise<Priced | Denial> {
  const { req, res } = exchange
  const body = await awaited(exchange, () => readBody(req, res, price.maxBody))
  if ('code' in body) return body
  const priced = priceOfBody(price, body, req.headers['content-type'], req.headers['content-encoding'])
  return 'code' in priced ? priced : { cost: priced.cost, body }
}

/** The body, where it is to be read before the charge. One in chunks that is not may be malformed all the same. */
export function earlyBody(exchange: Exchange): Promise<Buffer | Denial | null> | null {
  const { req, res, rules } = exchange
  if (isReadWhole(req, rules.maxBody)) {
    return awaited(exchange, () => readBody(req, res, rules.maxBody ?? Number.POSITIVE_INFINITY))
  }
  return req.headers['transfer-encoding'] === undefined ? null : beginningOf(req)
}

/** A body that is awaited takes no place among the requests under way. */
async function awaited(
  { req, rules, holder }: Exchange,
  body: () => Promise<Buffer | Denial>,
): Promise<Buffer | Denial> {
  const tooMany = holder.take('bodies', rules.shares)
  if (tooMany !== null) return exhausted(tooMany, req.headers.accept)
  holder.give('requests')
  const read = await body()
  holder.give('bodies')
  if ('code' in read) return read
  const full = holder.take('requests', rules.shares)
  return full === null ? read : exhausted(full, req.headers.accept)
}

/**
 * A place among those who may have a connection to the upstream, before anything is charged. A tunnel has one of its own. One
 * address or user that has its share waits for its own requests, and for those only. @returns why there is none
 */
export function upstreamPlace({ req, res, rules, holder }: Exchange): Later<Denial | null> {
  if (res === null) return null
  const taken = holder.takeWithin('upstream_connections', rules.shares, rules.queueTimeoutMs)
  if (taken === null) return null
  const { accept } = req.headers
  if (!(taken instanceof Promise)) return exhausted(taken, accept)
  return taken.then((tooMany) => (tooMany === null ? null : exhausted(tooMany, accept)))
}

/** What a charge that the ledger could not decide is answered with. @throws what is a fault of ours */
export function undecided(error: unknown): Denial {
  if (error instanceof LedgerFull) return overloaded('charges')
  if (error instanceof StoreError) return storeUnavailable(error)
  throw error
}

/** Whether a refusal of the quota is only counted and told: everywhere, on this route, or for this user. */
export function isShadowed({ rules, route }: Pick<Exchange, 'rules' | 'route'>, user: string, policy: Policy): boolean {
  return rules.shadow() || route?.shadow === true || policy.isShadowed(user)
}

/** A page of the API's description: no credential is read for it. */
export function referencePage({ req, rules }: Exchange, { path }: Target): Stop {
  const response = rules.reference?.response(path, req.headers)
  if (response == null) throw new Error(`planned a page that is none: ${path}`)
  return { kind: 'answered', response }
}

/** `GET /me/quota`: authenticated, never charged. */
export async function status(
  exchange: Exchange,
  store: Pick<QuotaStore, 'standing'>,
  failed: FailedChecks,
): Promise<Stop> {
  const caller = await identify(exchange, failed)
  if ('code' in caller) return denied(caller)
  exchange.caller = caller
  const policy = exchange.rules.policy()
  try {
    const standing = await store.standing(caller.user, policy.categories)
    const response = statusResponse(
      quotaStatus(policy, standing, caller.user),
      standingFields(policy, standing, caller.user),
    )
    return { kind: 'answered', response }
  } catch (error) {
    if (error instanceof StoreError) return denied(storeUnavailable(error))
    throw error
  }
}
