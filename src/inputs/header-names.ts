/** Names of fields that have a rule of their own, in lower case. */

/** Fields of one connection (RFC 9110 section 7.6.1), or of the gateway's own HTTP stack. `proxy-*` is a prefix rule. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/**
 * Facts that a proxy in front reports about the client: its address, the scheme and host it asked for, its certificate,
 * an id. Only those of a trusted peer pass, because a client could lie. The prefixes below belong to them.
 */
const FACTS: ReadonlySet<string> = new Set([
  'forwarded',
  // Many PHP and Java programs read it before X-Forwarded-For.
  'client-ip',
  'forwarded-for',
  'wl-proxy-client-ip',
  'x-forwarded',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-remote-addr',
  'x-remote-ip',
  'x-originating-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-visitor',
  'cloudfront-forwarded-proto',
  'fastly-client-ip',
  'fly-client-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-arr-ssl',
  'x-envoy-external-address',
  'x-original-forwarded-for',
  'x-original-host',
  'x-scheme',
  'x-url-scheme',
  'front-end-https',
  'client-cert',
  'client-cert-chain',
  'x-client-cert',
  'x-client-dn',
  'x-ssl-cert',
  'x-tls-client-cert',
  'x-arr-clientcert',
])

const FACT_PREFIX = /^(?:x-forwarded-|x-real-|(?:x-)?ssl-client-|x-amzn-mtls-clientcert)/

/** @param lower a name in lower case */
export function isFact(lower: string): boolean {
  return FACTS.has(lower) || FACT_PREFIX.test(lower)
}

/**
 * Fields that would change which request is priced. Proxies pass them on as a client sends them, so they are accepted
 * from nobody.
 */
export const OVERRIDES: ReadonlySet<string> = new Set([
  'x-original-url',
  'x-original-uri',
  'x-original-path',
  'x-original-method',
  'x-envoy-original-path',
  'x-override-url',
  'x-rewrite-url',
  'x-host',
  'x-http-host-override',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  // CGI turns it into HTTP_PROXY (httpoxy, CVE-2016-5385).
  'proxy',
])

/** Whether the upstream never gets a client's field of this name: `host` and `te` are written anew. @param lower in lower case */
export function neverPasses(lower: string): boolean {
  const isTaken = HOP_BY_HOP.has(lower) || OVERRIDES.has(lower) || isFact(lower) || REPLACED.has(lower)
  return isTaken || /^(?:proxy|x-tollgate)-/.test(lower)
}

const REPLACED: ReadonlySet<string> = new Set(['content-length', 'expect', 'host', 'x-request-id'])

/** RFC 9110 section 6.5.1: only the head decides framing, routing, modifiers, authentication, response control and content. */
export const NEVER_IN_TRAILERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-length',
  'content-encoding',
  'content-type',
  'content-range',
  'content-location',
  'content-disposition',
  'host',
  'authorization',
  'authentication-info',
  'www-authenticate',
  'cookie',
  'set-cookie',
  'age',
  'cache-control',
  'clear-site-data',
  'date',
  'expect',
  'expires',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'location',
  'max-forwards',
  'pragma',
  'range',
  'retry-after',
  'strict-transport-security',
  'content-security-policy',
  'vary',
  'via',
  'warning',
])

/** Fields of responses in which the gateway speaks of itself. The upstream's own never pass, since they would mislead. */
export const OURS: ReadonlySet<string> = new Set(['x-request-id', 'x-quota-reset'])

/**
 * Lists of limits to which the upstream and the gateway may both add. An intermediary does not remove what the upstream has put there
 * (draft-ietf-httpapi-ratelimit-headers).
 */
export const RATE_LIMITS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy'])

/** These fields had one value before they became lists, and many clients can read neither of two values. */
export const LEGACY_RATE_LIMITS: ReadonlySet<string> = new Set([
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
])
