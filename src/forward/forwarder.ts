import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { addressesInTurn } from './client/addresses.ts'
import type { Destination } from './client/contract.ts'
import { GivenUpError } from './client/failure.ts'
import { ConnectionPool } from './client/pool.ts'
import type { Forwarder, ForwardOptions, UpstreamTls } from './contract.ts'
import { silencesOf, UpstreamExchange } from './exchange.ts'
import { headerRules } from './field-fates.ts'
import { Tunnels } from './handshake.ts'
import { identify } from './headers.ts'
import { upstreamNames } from './upstream-names.ts'

export type * from './contract.ts'

/** @throws TypeError for a URL that is no origin; Error for TLS files that cannot be read */
export function createForwarder(options: ForwardOptions): Forwarder {
  const { origin, base } = partsOf(options.url)
  const rules = headerRules(options)
  const names = upstreamNames({ origin, base, host: options.host ?? null })
  const destination = destinationFor(options)
  const { responseTimeoutMs, idleTimeoutMs, shortestMs = Number.POSITIVE_INFINITY } = options
  const client = new ConnectionPool({
    ...options,
    destination,
    shortestMs: Math.min(responseTimeoutMs, idleTimeoutMs, shortestMs),
  })
  const { buffer: perResponse, bufferTotal: total, held = { bytes: 0 } } = options
  const upstream = {
    client,
    base,
    names,
    rules,
    silences: silencesOf(options),
    reuseAfterBody: options.reuseAfterBody,
    buffer: { perResponse, total, held },
  }
  const tunnels = new Tunnels({ ...options, client, origin, base, destination, names, rules })
  return {
    forward: (exchange, receiver) => new UpstreamExchange(exchange, upstream, receiver).begin(),
    upgrade: (exchange) => tunnels.open(exchange),
    ownFields(caller, quota) {
      const fields: string[] = []
      if (caller !== null) identify(fields, caller, rules)
      if (quota !== null && rules.quotaField !== null) fields.push(rules.quotaField, quota)
      return fields
    },
    isFull: () => client.isFull(),
    held,
    close: async () => {
      await Promise.all([client.close(), tunnels.close()])
    },
    destroy: async () => {
      client.destroy(STOPPED)
      await tunnels.destroy()
    },
  }
}

const STOPPED = new GivenUpError('the gateway stops')

/** @returns the origin, and the path before that of each request, without a slash at its end */
function partsOf(text: string): { origin: URL; base: string } {
  const url = new URL(text)
  const web = url.protocol === 'http:' || url.protocol === 'https:'
  const bare = url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  if (!web || !bare) throw new TypeError(`not an http or https origin with a path: ${url.protocol}//${url.host}`)
  return { origin: new URL(url.origin), base: url.pathname.replace(/\/$/, '') }
}

/** Where connections lead. @throws as `createForwarder` */
export function destinationFor(options: ForwardOptions): Destination {
  const { origin } = partsOf(options.url)
  const secureContext = origin.protocol === 'https:' ? secureContextOf(options.tls ?? {}) : undefined
  const { connectTimeoutMs, maxHeaderSize, lenient, tls } = options
  // Only the URL writes an IPv6 address in brackets.
  const host = origin.hostname.replace(/^\[|\]$/g, '')
  const port = Number(origin.port) || (secureContext === undefined ? 80 : 443)
  // An address cannot be sent as a name, but the certificate is still checked for it.
  const serverName = tls?.serverName ?? (isIP(host) === 0 ? host : undefined)
  const secure = secureContext === undefined ? null : { secureContext, serverName }
  return {
    host,
    port,
    socket: options.socket ?? null,
    lookup: addressesInTurn(),
    tls: secure,
    connectTimeoutMs,
    maxHeaderSize,
    lenient: new Set(lenient),
  }
}

function secureContextOf({ ca, cert, key }: UpstreamTls): SecureContext {
  return createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) })
}
