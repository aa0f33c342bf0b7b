import type { IncomingMessage } from 'node:http'
import { targetTooLong, tooLarge } from '../edge/denials.ts'
import { checkMethod, isLastHop, preflightOf, targetOf } from '../edge/head-rules.ts'
import { type Denial, denial } from '../errors.ts'
import type { Price } from '../inputs/price.ts'
import { STATUS_PATHS, USAGE_PATH } from '../quota/own-paths.ts'
import { bodyNames, queryDenial, queryFault } from '../routing/price.ts'
import { canonicalTarget, problemOf, type Target, type TargetProblem } from '../routing/target.ts'
import type { Route, Rules } from './snapshot.ts'

/** The part of the rules that decides where a request goes. */
export type PlanRules = Pick<
  Rules,
  'maxUrl' | 'paths' | 'maxBody' | 'publicPaths' | 'reference' | 'routes' | 'unmatched' | 'preflight'
>

/** The parts of a request's head that decide where it goes. */
export interface RequestLine {
  readonly method: string
  /** Path and query as the client sent them, one character for each byte; or `*`. */
  readonly target: string
  /** Announced length of the body; 0 if there is no body or no announced length. */
  readonly bodyBytes: number
  /** An upgrade gets no public document and no page of the reference. */
  readonly isUpgrade: boolean
  /** Whether the client forbids the gateway to forward the request (`Max-Forwards: 0`). */
  readonly isLastHop: boolean
  /** For a preflight, the method that a page wants to use; else `null`. */
  readonly preflight: string | null
}

/** @param res `null` for an upgrade */
export function lineOf(
  req: Pick<IncomingMessage, 'url' | 'method' | 'headers'>,
  res: object | null,
  { credentials }: Pick<Rules, 'credentials'>,
): RequestLine {
  const { method = '', headers } = req
  const bodyBytes = Number(headers['content-length'] ?? 0)
  const preflight = preflightOf(req, credentials.fields)
  return { method, target: targetOf(req), bodyBytes, isUpgrade: res === null, isLastHop: isLastHop(req), preflight }
}

/** Where a request goes. */
export type Plan =
  | { readonly kind: 'refused'; readonly refusal: PlanRefusal }
  /** OPTIONS of the gateway, not of a resource: no credential is read, and nothing is charged or forwarded. */
  | { readonly kind: 'options' }
  /** The quota of the caller: authenticated, never charged. */
  | { readonly kind: 'status'; readonly target: Target }
  /** What the caller used: authenticated, never charged. */
  | { readonly kind: 'usage'; readonly target: Target }
  /** One of the public documents: no credential is read. */
  | { readonly kind: 'document'; readonly target: Target }
  /** A page of the API reference: no credential is read. */
  | { readonly kind: 'page'; readonly target: Target }
  /** A preflight to which the gateway responds, with the methods of the path. No credential is read. */
  | { readonly kind: 'preflight'; readonly target: Target; readonly methods: readonly string[] }
  /** No rule matches, and `unmatched` refuses it. */
  | { readonly kind: 'unmatched'; readonly target: Target; readonly refusal: PlanRefusal }
  /** A rule matches, or `rules.unmatched` applies. Its `tariff` says whether the price needs a caller or a body. */
  | { readonly kind: 'route'; readonly target: Target; readonly route: Route }

export interface PlanRefusal {
  readonly code:
    | TargetProblem['code']
    | 'method_not_accepted'
    | 'target_too_long'
    | 'body_too_large'
    | 'priced_in_query'
    | 'no_route'
    | 'method_not_allowed'
  readonly denial: Denial
  /** Values for the sentence of the denial. */
  readonly values: Readonly<Record<string, string | number>>
}

/**
 * Decides where a request goes by its head. The order is written only here: the gateway follows it, and `explain` reads
 * it. It neither waits nor counts. Caller, cost and room are found out later.
 */
export function plan(
  rules: PlanRules,
  { method, target: written, bodyBytes, isUpgrade, isLastHop, preflight }: RequestLine,
): Plan {
  const { maxUrl, maxBody } = rules
  const notServed = checkMethod(method)
  if (notServed !== null) return refused('method_not_accepted', notServed)
  if (isLastHop || (method === 'OPTIONS' && written === '*')) return { kind: 'options' }
  if (written.length > maxUrl) return refused('target_too_long', targetTooLong(maxUrl), { max: maxUrl })
  const target = canonicalTarget(written, rules.paths)
  if ('problem' in target) return unreadable(target)
  if (maxBody !== null && bodyBytes > maxBody) return { kind: 'refused', refusal: bodyTooLarge(maxBody) }
  if (preflight !== null && rules.preflight !== null) return planPreflight(rules, preflight, target)
  const isRead = method === 'GET' || method === 'HEAD'
  if (isRead && STATUS_PATHS.has(target.matched)) return { kind: 'status', target }
  if (isRead && target.matched === USAGE_PATH) return { kind: 'usage', target }
  if (isRead && !isUpgrade && rules.publicPaths.has(target.matched)) return { kind: 'document', target }
  if (isRead && !isUpgrade && rules.reference?.has(target.matched)) return { kind: 'page', target }
  const found = rules.routes.lookup(method, target.matched)
  if (found !== null && 'rule' in found) return { kind: 'route', target, route: found.rule }
  if (found !== null && 'unclear' in found) return unreadable(problemOf(found.unclear))
  if (rules.unmatched !== null) return { kind: 'route', target, route: rules.unmatched }
  return { kind: 'unmatched', target, refusal: noRule(found?.allow ?? (isOwn(rules, target) ? READ : null)) }
}

const READ = ['GET', 'HEAD']

/** Whether the gateway serves the path itself, apart from the pages of the reference. */
function isOwn({ publicPaths }: PlanRules, { matched }: Target): boolean {
  return STATUS_PATHS.has(matched) || matched === USAGE_PATH || publicPaths.has(matched)
}

/**
 * A preflight is served for each path that has a rule for some method, and without a credential, since a browser sends none with it. For
 * its own paths the gateway always responds, because the upstream does not know them.
 */
function planPreflight(rules: PlanRules, wanted: string, target: Target): Plan {
  const { routes, unmatched } = rules
  if (isOwn(rules, target) || rules.reference?.has(target.matched)) {
    return { kind: 'preflight', target, methods: READ }
  }
  const found = routes.lookup('OPTIONS', target.matched)
  if (found !== null && 'unclear' in found) return unreadable(problemOf(found.unclear))
  const rule = found !== null && 'allow' in found ? routes.lookup(found.allow[0] ?? '', target.matched) : found
  const route = rule !== null && 'rule' in rule ? rule.rule : unmatched
  if (route === null) return { kind: 'unmatched', target, refusal: noRule(null) }
  if (rules.preflight === 'answer') return { kind: 'preflight', target, methods: methodsOf(rules, wanted, target) }
  return { kind: 'route', target, route: { ...route, tariff: null, health: 'never' } }
}

/** The methods that rules name, and the wanted one if a rule for all methods serves it. */
function methodsOf({ routes, unmatched }: PlanRules, wanted: string, { matched }: Target): readonly string[] {
  // No rule names the empty method, so only a rule for all methods matches.
  const any = routes.lookup('', matched)
  const named = any !== null && 'allow' in any ? any.allow : []
  const takesAny = unmatched !== null || (any !== null && 'rule' in any)
  return takesAny && checkMethod(wanted) === null ? [...new Set([...named, wanted])] : named
}

/**
 * Why a query is not allowed beside the priced body of a route; `null` if it is. It is checked after the credential, because no other
 * look at a head costs as much.
 */
export function queryRefusal({ tariff }: Pick<Route, 'tariff'>, { query }: Pick<Target, 'query'>): PlanRefusal | null {
  if (tariff === null) return null
  const refusal = refusedByPrice(tariff.price, query)
  if (refusal !== null || tariff.others === null) return refusal
  for (const meter of tariff.others) {
    const of = refusedByPrice(meter.price, query)
    if (of !== null) return of
  }
  return null
}

function refusedByPrice(price: Price, query: string): PlanRefusal | null {
  if (price.kind === 'fixed') return null
  const fault = queryFault(price, query)
  if (fault === null) return null
  return {
    code: 'priced_in_query',
    denial: queryDenial(price, fault),
    values: { fields: bodyNames(price).join(', ') },
  }
}

function unreadable({ code, problem }: TargetProblem): Plan {
  return refused(code, denial('bad_request', problem, { reason: code }))
}

function refused(code: PlanRefusal['code'], denial: Denial, values: PlanRefusal['values'] = {}): Plan {
  return { kind: 'refused', refusal: { code, denial, values } }
}

/** @param max in bytes, for all requests or for those whose body is priced */
export function bodyTooLarge(max: number): PlanRefusal {
  return { code: 'body_too_large', denial: tooLarge(max), values: { max } }
}

/** @param allowed methods of this path; `null` if no rule has the path */
function noRule(allowed: readonly string[] | null): PlanRefusal {
  if (allowed === null)
    return { code: 'no_route', denial: denial('no_route', 'No route matches this path.'), values: {} }
  const allow = allowed.join(', ')
  const refusal = denial('method_not_allowed', `This path allows ${allow}.`, { headers: { Allow: allow } })
  return { code: 'method_not_allowed', denial: refusal, values: { allow } }
}
