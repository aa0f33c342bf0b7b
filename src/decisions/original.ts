import { type IncomingMessage, METHODS } from 'node:http'
import { checkMethod } from '../edge/head-rules.ts'
import { notImplemented } from '../edge/parser-error.ts'
import { type Denial, denial } from '../errors.ts'
import { valuesIn } from '../lib/field-names.ts'
import { PATHS } from './paths.ts'

/** The parts of the request in question that differ from the request by which a proxy asks about it. */
export interface Original {
  readonly method: string
  /** Path and query. */
  readonly url: string
}

/** The pairs of fields in which a proxy names the request, in lower case: Traefik and Caddy use the first, nginx the second. */
const PAIRS = [
  ['x-forwarded-method', 'x-forwarded-uri'],
  ['x-original-method', 'x-original-uri'],
] as const

/**
 * Finds the original. Most proxies pass a client's own fields on, so a request with two readings is denied: a field in two lines, fields of
 * both pairs, half a pair, or a line that no client could have sent to a server.
 */
export function originalOf(req: Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'rawHeaders'>): Original | Denial {
  const { method = '', url = '' } = req
  if (url.startsWith(PATHS.envoy)) return readable({ method, url: url.slice(PATHS.envoy.length) })
  // Caddy appends the query of the original to its own path.
  if (url.split('?', 1)[0] !== PATHS.auth) return UNKNOWN
  const [first, ...others] = PAIRS.filter((pair) => pair.some((name) => req.headers[name] !== undefined))
  if (first === undefined) return unclear('no fields that name the original request')
  if (others.length > 0) return unclear('fields of two kinds name the original request')
  const [methods, urls] = first.map((name) => valuesIn(req.rawHeaders, name)) as [string[], string[]]
  const [asked, target] = [methods[0], urls[0]]
  if (asked === undefined || target === undefined || methods.length + urls.length > 2) {
    return unclear(`not one ${first[0]} and one ${first[1]}`)
  }
  return readable({ method: asked, url: target })
}

/** Node's parser takes no request with another method. */
const KNOWN = new Set(METHODS)
const METHOD = /^[\w!#$%&'*+.^`|~-]{1,40}$/
/** The request target, as Node's parser takes it. */
const PATH = /^\/[!-~]*$/

/** @returns the original itself, or why Node's parser or the edge would accept no request with such a line */
export function readable(original: Original): Original | Denial {
  const { method, url } = original
  if (!METHOD.test(method)) return unclear('a method of the original request that is none')
  if (!KNOWN.has(method)) return notImplemented(method)
  const refused = checkMethod(method)
  if (refused !== null) return refused
  return PATH.test(url) ? original : unclear('a target of the original request that is no path')
}

function unclear(reason: string): Denial {
  const msg =
    'The original request is not clear: it is named by one X-Forwarded-Method and one X-Forwarded-Uri, or by one X-Original-Method and one X-Original-URI.'
  return denial('bad_request', msg, { reason })
}

const { auth, envoy, decide } = PATHS
const UNKNOWN = denial('no_route', `Proxies ask here at ${auth}, Envoy below ${envoy}, and services by POST ${decide}.`)
