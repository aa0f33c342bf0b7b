import { createHash, hash } from 'node:crypto'
import { linesOf } from '../auth/asking.ts'
import { type Denial, denial } from '../errors.ts'
import { withoutParameters } from '../lib/query-parameters.ts'
import type { Once } from '../quota/once.ts'
import { hasBody, SMALL } from '../respond/announced-body.ts'
import type { Exchange, Given } from './context.ts'
import type { Repetition, Route } from './snapshot.ts'

/** Finds out whether a request is a repetition. */

/** The characters of a hash in base64url that are kept: 132 bits. */
const LETTERS = 22

/** The rule and the value of the request's key; `null` if there is none, as for every tunnel. */
function keyOf({ req, res }: Pick<Exchange, 'req' | 'res'>, { repetition }: Route): [Repetition, string] | null {
  if (repetition === null || res === null) return null
  const key = req.headers[repetition.field]
  return key === undefined || key.length === 0 ? null : [repetition, String(key)]
}

/**
 * The denial of a request that has its key in two lines. Of some fields Node takes the first line and an upstream may take the last, so
 * that one key here would be several there. `null` if there is at most one key, or the route looks for none.
 */
export function severalKeys(exchange: Exchange, { repetition }: Route): Denial | null {
  if (repetition === null || exchange.res === null || linesOf(exchange, repetition.field).length < 2) return null
  return denial('bad_request', `The request must have only one ${repetition.header} header.`, {
    reason: 'duplicate_header',
  })
}

/** Whether a small body is read before the charge to recognise the request, even in chunks or behind `100 Continue`. */
export function isKnownByBody(exchange: Pick<Exchange, 'req' | 'res'>, route: Route): boolean {
  return keyOf(exchange, route) !== null && Number(exchange.req.headers['content-length'] ?? 0) <= SMALL
}

/**
 * The host names that the upstream gets, because each may be another service there: `Host`, and the names that a trusted proxy reports.
 * Ports are left out, because they differ if a client uses several gateways.
 */
function hostsOf({ req: { headers }, client, rules }: Exchange): string[] {
  const forwarded = rules.isProxy(client.address) ? headers['x-forwarded-host'] : undefined
  return [headers.host, forwarded].map((host) =>
    String(host ?? '')
      .toLowerCase()
      .replace(/:\d*$/, ''),
  )
}

/** The values of the fields with the price, because another value makes another request. */
function pricedBy({ req: { headers }, route }: Exchange): (string | null)[] {
  return route?.tariff?.fields.map((field) => headers[field]?.toString() ?? null) ?? []
}

/**
 * How repetitions of a request are recognised; `null` if each is charged: without a key, or with a large body. Cost and limits do not
 * matter for this, because they may change between two repetitions.
 */
export function onceOf(exchange: Exchange, route: Route): Once | null {
  const { given } = exchange
  if (given?.key != null) return onceGiven(exchange, given, given.key)
  const keyed = keyOf(exchange, route)
  return keyed === null ? null : onceByKey(exchange, keyed)
}

/** How long a question with a key counts as the same, in milliseconds, and how often it may be repeated. */
const [ASKED_MS, ASKED_AGAIN] = [3_600_000, 100]

/** A service that repeats its question settles once. The key includes the request, so that a question about another one is no repetition. */
function onceGiven(exchange: Exchange, { charges, body }: Given, key: string): Once | null {
  const { req, caller, target } = exchange
  if (caller === null || target === null) return null
  const line = [req.method, target.path + target.query, String(body)]
  const asked = JSON.stringify(['given', caller.user, key, ...line, charges ?? pricedBy(exchange)])
  const hashed = hash('sha256', asked, 'base64url').slice(0, LETTERS)
  return { key: hashed, body: '-', forMs: ASKED_MS, replays: ASKED_AGAIN, isOneUse: true }
}

function onceByKey(exchange: Exchange, keyed: [Repetition, string]): Once | null {
  const { req, rules, caller, target } = exchange
  if (caller === null || target === null) return null
  const body = exchange.body ?? exchange.given?.body ?? null
  // A body that was not read yet is large.
  if (body === null ? hasBody(req) : body.length > SMALL) return null
  const [{ forMs, replays }, key] = keyed
  const { headers, method } = req
  const query = withoutParameters(target.query, rules.credentials.parameters)
  const request = JSON.stringify([caller.user, key, method, ...hostsOf(exchange), target.path + query])
  const form = JSON.stringify([headers['content-type'], headers['content-encoding'], ...pricedBy(exchange)])
  const hashed = createHash('sha256')
    .update(form)
    .update(body ?? '')
    .digest('base64url')
  return {
    key: hash('sha256', request, 'base64url').slice(0, LETTERS),
    body: hashed.slice(0, LETTERS),
    forMs,
    replays,
  }
}
