import { isIP } from 'node:net'

/** The names by which the upstream knows itself, and how they are replaced in its responses. */
export interface UpstreamNames {
  /** The Host field of a request. @param clients the client's Host; empty if it sent none */
  hostFor(clients: string): string
  /**
   * Translates the Destination of a WebDAV request (RFC 4918 section 10.3) into the upstream's name, because the upstream compares
   * scheme and authority with its own. A URI stays unchanged unless its authority certainly is the one that the client requested.
   */
  destinationFor(value: string, asked: Asked): string
  /**
   * Translates addresses of the upstream's own network into those that the client requested: in Location,
   * Content-Location, Refresh, and Domain and Path of cookies. Other addresses stay unchanged.
   * @param headers raw, changed in place
   */
  rewrite(status: number, headers: string[], asked: Asked): void
}

/** How the client addressed its request. */
export interface Asked {
  /** `http` or `https`. */
  readonly scheme: string
  /** In the form of a Host field; empty if the client named none. */
  readonly authority: string
  /** The client's Host; empty if it sent none. */
  readonly host: string
  /** The path that a proxy in front has removed, without a slash at its end; empty for none. */
  readonly prefix: string
}

export interface NamesOptions {
  readonly origin: URL
  /** The upstream's path before that of each request; empty for none. */
  readonly base: string
  /** The Host field of each request; `null` for the client's Host. */
  readonly host: string | null
}

interface Place {
  readonly hostname: string
  /** Empty for the default port of the scheme. */
  readonly port: string
}

/** The beginning of a URI, if all readers find the same authority in it. */
const AUTHORITY = /^(?:(https?):)?\/\/(\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(?::(\d{0,5}))?(?=[/?#]|$)/i
const PLACE = /^(\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(?::(\d{0,5}))?$/
const PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' }

/** An address with the client's own Host stays unchanged, but loses the upstream's port, which nginx adds. */
export function upstreamNames(options: NamesOptions): UpstreamNames {
  const { origin, host } = options
  const isPlain = host === null && options.base === ''
  const hostFor = host === null ? (clients: string) => clients || origin.host : () => host
  return {
    hostFor,
    destinationFor: (value, asked) => destination(value, { ...options, asked, sent: hostFor(asked.host) }),
    rewrite(status, headers, asked) {
      if (isPlain && ((origin.port === '' && asked.host !== '') || !isRedirect(status))) return
      const call = { ...options, asked, sent: hostFor(asked.host) }
      for (let i = 0; i < headers.length; i += 2) {
        const rewritten = RULES.get((headers[i] as string).toLowerCase())
        if (rewritten !== undefined) headers[i + 1] = rewritten(headers[i + 1] as string, call)
      }
    },
  }
}

function isRedirect(status: number): boolean {
  return status === 201 || (status >= 300 && status <= 399)
}

/** What rewriting one response needs. */
interface Call extends NamesOptions {
  readonly asked: Asked
  /** The Host that was sent to the upstream. */
  readonly sent: string
}

type Rule = (value: string, call: Call) => string

const RULES: ReadonlyMap<string, Rule> = new Map([
  ['location', uri],
  ['content-location', uri],
  ['refresh', refresh],
  ['set-cookie', cookie],
])

/** Only the beginning is translated, because an address in a query is data. */
function uri(value: string, call: Call): string {
  const { base, asked } = call
  const [start, scheme, hostname = '', port = ''] = AUTHORITY.exec(value) ?? []
  if (start === undefined) return isPath(value) ? pathFor(value, call) : value
  if (!isUpstream({ scheme: scheme?.toLowerCase(), hostname: hostname.toLowerCase(), port }, call)) return value
  const rest = withoutBase(value.slice(start.length), base)
  if (rest === null) return value
  if (!PLACE.test(asked.authority)) return unambiguous(rest.startsWith('/') ? rest : `/${rest}`)
  return `${scheme === undefined ? '' : `${asked.scheme}:`}//${asked.authority}${prefixed(rest, asked.prefix)}`
}

/** A path without a host, as the client knows it. Without a base it is the same for the upstream. */
function pathFor(path: string, { base, asked }: Call): string {
  const rest = base === '' ? null : withoutBase(path, base)
  return rest === null ? path : prefixed(rest, asked.prefix)
}

/** Many services add the prefix themselves, because X-Forwarded-Prefix asks them to. */
function prefixed(path: string, prefix: string): string {
  const isThere = path.startsWith(prefix) && /^(?:[/?#]|$)/.test(path.slice(prefix.length))
  return isThere ? path : prefix + path
}

/** Translates in the opposite direction of `uri`. */
function destination(value: string, { origin, base, asked, sent }: Call): string {
  const [start, scheme = asked.scheme, hostname = '', port = ''] = AUTHORITY.exec(value) ?? []
  if (start === undefined) return isPath(value) ? base + (withoutBase(value, asked.prefix) ?? value) : value
  const called = placeOf(asked.authority)
  const implied = PORTS[scheme.toLowerCase()]
  const isAsked = called?.hostname === hostname.toLowerCase() && (called.port || implied) === (port || implied)
  const path = value.slice(start.length) || '/'
  return isAsked ? `${origin.protocol}//${sent}${base}${withoutBase(path, asked.prefix) ?? path}` : value
}

function isPath(value: string): boolean {
  return value.startsWith('/') && !value.startsWith('//')
}

interface Named extends Place {
  readonly scheme: string | undefined
}

/** Whether a URI names the upstream, by its URL or by the Host that was sent to it. */
function isUpstream(named: Named, { origin, host, base, asked, sent }: Call): boolean {
  const own = origin.protocol.slice(0, -1)
  const scheme = named.scheme ?? own
  const port = named.port || PORTS[scheme]
  const ownPort = origin.port || PORTS[own]
  const called = placeOf(sent)
  const isCalledSo = called !== null && named.hostname === called.hostname
  const isSent = isCalledSo && port === (called.port || PORTS[scheme]) && (scheme === own || scheme === asked.scheme)
  // Servers such as nginx add the port on which they listen to the requested name.
  if (isCalledSo && !isSent && scheme === own && named.port === ownPort) return true
  // A client without a Host has no name of its own that could be kept.
  if (host === null && asked.host !== '') return isSent && base !== ''
  return isSent || (scheme === own && named.hostname === origin.hostname && port === ownPort)
}

function placeOf(authority: string): Place | null {
  const [, hostname, port = ''] = PLACE.exec(authority) ?? []
  return hostname === undefined ? null : { hostname: hostname.toLowerCase(), port }
}

/** `null` for a path outside of the base. */
function withoutBase(path: string, base: string): string | null {
  if (base === '') return path
  const rest = path.slice(base.length)
  if (!path.startsWith(base) || !/^(?:[/?#]|$)/.test(rest)) return null
  return unambiguous(rest.startsWith('/') ? rest : `/${rest}`)
}

/** A path that begins with two slashes would be an authority. Some readers also take `\` for `/`, and ignore tabs. */
function unambiguous(path: string): string {
  return /^\/\t*[/\\]/.test(path) ? `/.${path}` : path
}

function refresh(value: string, call: Call): string {
  const [, start, quote = '', rest = ''] = /^([\d. \t]*[;,][ \t]*(?:url[ \t]*=[ \t]*)?)(["']?)(.*)$/i.exec(value) ?? []
  if (start === undefined) return value
  const end = quote === '' ? -1 : rest.indexOf(quote)
  const target = end < 0 ? rest : rest.slice(0, end)
  return start + quote + uri(target, call) + rest.slice(target.length)
}

function cookie(value: string, call: Call): string {
  const [pair, ...attributes] = value.split(';')
  return [pair, ...attributes.flatMap((attribute) => attributeOf(attribute, call) ?? [])].join(';')
}

/** `null` for an attribute that is removed. */
function attributeOf(attribute: string, call: Call): string | null {
  const { origin, host, asked, sent } = call
  const at = attribute.indexOf('=')
  const name = attribute.slice(0, Math.max(at, 0)).trim().toLowerCase()
  const value = attribute.slice(at + 1).trim()
  const kept = attribute.slice(0, at + 1)
  if (name === 'path' && value.startsWith('/')) return kept + pathFor(value, call)
  if (name !== 'domain' || host === null) return attribute
  const domain = value.replace(/^\./, '').toLowerCase()
  if (domain !== origin.hostname && domain !== placeOf(sent)?.hostname) return attribute
  const asks = placeOf(asked.authority)?.hostname ?? ''
  // Browsers accept neither an address nor a name without a dot as Domain. Without Domain the cookie belongs to the host itself.
  return asks.includes('.') && isIP(asks) === 0 && !asks.startsWith('[') ? kept + asks : null
}
