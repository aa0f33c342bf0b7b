import { isIP } from 'node:net'

/** What the upstream is called towards itself, and what becomes of that in its responses. */
export interface UpstreamNames {
  /** The Host field of a request. @param clients that of the client; empty if it sent none */
  hostFor(clients: string): string
  /**
   * Turns the Destination of a WebDAV request (RFC 4918 section 10.3) into what the upstream calls it: it compares scheme and authority
   * with its own. Anything that is not surely what the client asked for stays as it is.
   */
  destinationFor(value: string, asked: Asked): string
  /**
   * Turns the addresses that only the upstream's own network knows into what the client asked for: in Location,
   * Content-Location, Refresh, and Domain and Path of cookies. Anything that is not surely the upstream stays as it is.
   * @param headers raw, changed in place
   */
  rewrite(status: number, headers: string[], asked: Asked): void
}

/** How the client reaches what it asked for. */
export interface Asked {
  /** `http` or `https`. */
  readonly scheme: string
  /** As in a Host field; empty if the client named none. */
  readonly authority: string
  /** The client's Host; empty if it sent none. */
  readonly host: string
  /** The path that a proxy in front has taken off, without a slash at its end; empty for none. */
  readonly prefix: string
}

export interface NamesOptions {
  readonly origin: URL
  /** The path before that of each request; empty for none. */
  readonly base: string
  /** The Host field of each request; `null` for the client's. */
  readonly host: string | null
}

interface Place {
  readonly hostname: string
  /** Empty for the one that the scheme implies. */
  readonly port: string
}

/** The beginning of a URI as far as every reader finds the same authority in it. */
const AUTHORITY = /^(?:(https?):)?\/\/(\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(?::(\d{0,5}))?(?=[/?#]|$)/i
const PLACE = /^(\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(?::(\d{0,5}))?$/
const PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' }

/** Whatever names the client's own Host already is left alone, but for the port of the upstream, which nginx adds to it. */
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

/** One response. */
interface Call extends NamesOptions {
  readonly asked: Asked
  /** The Host that the upstream got. */
  readonly sent: string
}

type Rule = (value: string, call: Call) => string

const RULES: ReadonlyMap<string, Rule> = new Map([
  ['location', uri],
  ['content-location', uri],
  ['refresh', refresh],
  ['set-cookie', cookie],
])

/** Only its beginning is looked at: an address in a query is data. */
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

/** A path alone as the client knows it. Without a base the upstream may know it as well. */
function pathFor(path: string, { base, asked }: Call): string {
  const rest = base === '' ? null : withoutBase(path, base)
  return rest === null ? path : prefixed(rest, asked.prefix)
}

/** Many services put it there themselves, as X-Forwarded-Prefix asks them to. */
function prefixed(path: string, prefix: string): string {
  const isThere = path.startsWith(prefix) && /^(?:[/?#]|$)/.test(path.slice(prefix.length))
  return isThere ? path : prefix + path
}

/** The way back of `uri`. */
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

/** Whether it is the upstream that a URI names, by its URL or by the Host that it got. */
function isUpstream(named: Named, { origin, host, base, asked, sent }: Call): boolean {
  const own = origin.protocol.slice(0, -1)
  const scheme = named.scheme ?? own
  const port = named.port || PORTS[scheme]
  const ownPort = origin.port || PORTS[own]
  const called = placeOf(sent)
  const isCalledSo = called !== null && named.hostname === called.hostname
  const isSent = isCalledSo && port === (called.port || PORTS[scheme]) && (scheme === own || scheme === asked.scheme)
  // Servers such as nginx put the port on which they listen behind the name that they are asked for.
  if (isCalledSo && !isSent && scheme === own && named.port === ownPort) return true
  // A client that names no Host has none of its own that could be kept.
  if (host === null && asked.host !== '') return isSent && base !== ''
  return isSent || (scheme === own && named.hostname === origin.hostname && port === ownPort)
}

function placeOf(authority: string): Place | null {
  const [, hostname, port = ''] = PLACE.exec(authority) ?? []
  return hostname === undefined ? null : { hostname: hostname.toLowerCase(), port }
}

/** `null` for a path that is not below the base. */
function withoutBase(path: string, base: string): string | null {
  if (base === '') return path
  const rest = path.slice(base.length)
  if (!path.startsWith(base) || !/^(?:[/?#]|$)/.test(rest)) return null
  return unambiguous(rest.startsWith('/') ? rest : `/${rest}`)
}

/** A path that begins with two slashes would name an authority; readers also take `\` for `/`, and leave tabs out. */
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

/** `null` for one that falls away. */
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
  // Browsers take neither an address nor a name without a dot: without Domain the cookie is that of the host itself.
  return asks.includes('.') && isIP(asks) === 0 && !asks.startsWith('[') ? kept + asks : null
}
