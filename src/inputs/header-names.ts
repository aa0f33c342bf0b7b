/** Field names, in lower case, that have a rule of their own. */

/** Belong to one connection (RFC 9110 section 7.6.1), or to the gateway's own HTTP stack. `proxy-*` is a prefix rule. */
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
 * What a proxy in front reports of the client: its address, the scheme and host it asked for, its certificate, an id. A
 * trusted peer's are passed on. A client could lie with each, so nobody else's are. The prefixes below belong to them.
 */
const FACTS: ReadonlySet<string> = new Set([
  'forwarded',
  // Read before X-Forwarded-For by much PHP and Java.
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
 * What would make another request of the one that was priced. Proxies pass these on as they come from a client, so that
 * they are taken from nobody.
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

/** Whether no client's field of this name ever reaches the upstream, whatever is configured: `host` and `te` are written anew. @param lower in lower case */
export function neverPasses(lower: string): boolean {
  const isTaken = HOP_BY_HOP.has(lower) || OVERRIDES.has(lower) || isFact(lower) || REPLACED.has(lower)
  return isTaken || /^(?:proxy|x-tollgate)-/.test(lower)
}

const REPLACED: ReadonlySet<string> = new Set(['content-length', 'expect', 'host', 'x-request-id'])

/** RFC 9110 section 6.5.1: framing, routing, modifiers, authentication, response control and content are decided by the head. */
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

/** Fields of responses that say something of the gateway: a client takes each for the gateway's, so the upstream's own never pass. */
export const OURS: ReadonlySet<string> = new Set(['x-request-id', 'x-quota-reset'])

/**
 * Lists of limits that upstream and gateway both may have something in. An intermediary does not take away what the upstream says of its
 * own (draft-ietf-httpapi-ratelimit-headers).
 */
export const RATE_LIMITS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy'])

/** These fields had one value before they were lists, and many clients read neither of two values. */
export const LEGACY_RATE_LIMITS: ReadonlySet<string> = new Set([
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
])
