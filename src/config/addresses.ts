import { BlockList, isIP } from 'node:net'
import { quote } from './problems.ts'
import type { Reading } from './units.ts'

/** Parsers for places on the network and on disk. No problem repeats a URL that may hold a password. */

export interface HostPort {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
}

export type IssuerKeys =
  | { readonly kind: 'url'; readonly url: string }
  /** `hash` is the hash of the content that the file had when the configuration was loaded. */
  | { readonly kind: 'file'; readonly path: string; readonly hash?: string }
  /** `previous` is accepted too, during a rotation. */
  | { readonly kind: 'secret'; readonly secret: string; readonly previous?: string }

export type StoreLocation =
  /** A path, which begins at the working directory unless it is absolute; or `:memory:`. */
  | { readonly kind: 'sqlite'; readonly path: string }
  /** The URL contains credentials and must not be logged. */
  | {
      readonly kind: 'redis'
      readonly topology: 'single' | 'sentinel' | 'cluster'
      /** Whether its connections use TLS. */
      readonly encrypted: boolean
      readonly url: string
    }

/** A store in memory belongs to this process, and ends with it. */
export function isInMemory(location: StoreLocation): boolean {
  return location.kind === 'sqlite' && location.path === ':memory:'
}

/** Arguments for `net.BlockList.addSubnet`. */
export interface Subnet {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?$/

/** `host:port`, IPv6 in brackets. */
export function parseHostPort(text: string): Reading<HostPort> {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined) return { problem: `${quote(text)} is not HOST:PORT: ${hostPortCure(text)}` }
  const host = bracketed ?? plain ?? ''
  if (host === '') return { problem: `${quote(text)} has no host: write 0.0.0.0:${port} for all addresses` }
  const good = bracketed === undefined ? isIP(host) === 4 || isHostName(host) : isIP(host) === 6
  if (!good) return { problem: `${quote(host)} is not a host: write a name or an address, IPv6 in brackets` }
  return Number(port) <= 65_535
    ? { value: { host, port: Number(port) } }
    : { problem: `port ${port} is too high: write 0 to 65535` }
}

/** The address of a listener. */
export type Listen = HostPort | { readonly socket: string }

/** `host:port`, or `unix:` and the path of a socket. */
export function parseListen(text: string): Reading<Listen> {
  if (!text.startsWith('unix:')) return parseHostPort(text)
  const socket = text.slice(5).replace(/^\/\/(?=\/)/, '')
  if (socket === '') return { problem: 'names no socket: write unix:PATH, like unix:/run/tollgate/decide.sock' }
  if (Buffer.byteLength(socket) > MAX_SOCKET_PATH) {
    return { problem: `names a socket of more than ${MAX_SOCKET_PATH} bytes, which no system has: shorten its path` }
  }
  return { value: { socket } }
}

function hostPortCure(text: string): string {
  if (isIP(text) === 6 || /^[0-9a-f:]*::[0-9a-f:]*:\d+$/i.test(text))
    return 'put the IPv6 address in brackets, like "[::1]:8080"'
  if (/^\d+$/.test(text)) return `write 0.0.0.0:${text} for all addresses`
  return /^[a-z]+:\/\//i.test(text) ? 'remove the scheme' : 'write one like 127.0.0.1:8080'
}

/** Whether a text is a host name. Digits and dots alone are meant as an address, and no valid address gets here. */
function isHostName(host: string): boolean {
  return HOST_NAME.test(host) && !/^[\d.]+$/.test(host)
}

/** An origin as browsers send it in the field `Origin`; or `*`, or `null`. */
export function parseWebOrigin(text: string): Reading<string> {
  if (text === '*' || text === 'null') return { value: text }
  if (text.includes('@')) return { problem: 'holds "@", as a URL with a user or password does: write only its origin' }
  const origin = webOriginOf(text)
  if (origin === null) return { problem: `${quote(text)} is not an origin: write one like https://app.example.org` }
  return origin === text ? { value: text } : { problem: `browsers never send ${quote(text)}: write ${origin}` }
}

/** The origin of a URL in lower case, without the scheme's default port; `null` if the text is no such URL. */
function webOriginOf(text: string): string | null {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/*]/.test(text) || !URL.canParse(text)) return null
  const { protocol, host } = new URL(text)
  return host === '' ? null : `${protocol}//${host.toLowerCase()}`
}

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === '::1' || host.toLowerCase() === 'localhost' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Whether two addresses to listen on overlap, or may overlap, however each is written. */
export function shareAddress(a: string, b: string): boolean {
  if (isEvery(a) || isEvery(b)) return true
  return addressesOf(a).some((one) => addressesOf(b).some((other) => isSame(one, other)))
}

/** Whether a connection to `host` reaches a listener on `listen`, as far as that shows without asking the machine. */
export function leadsTo(host: string, listen: string): boolean {
  // The system takes "every address" as a destination for this machine.
  const targets = addressesOf(isEvery(host) ? 'localhost' : host)
  if (!isEvery(listen)) return targets.some((one) => addressesOf(listen).some((other) => isSame(one, other)))
  // A listener on every IPv6 address also has the IPv4 ones.
  return targets.some((one) => isLoopback(one) && (isIP(one) === 4 || isIP(listen) === 6))
}

function isEvery(host: string): boolean {
  return ['0.0.0.0', '::'].some((every) => isSame(host, every))
}

/** `localhost` may be the IPv4 or the IPv6 loopback address, depending on the machine. */
function addressesOf(host: string): string[] {
  const name = host.toLowerCase().replace(/\.$/, '')
  return name === 'localhost' ? ['127.0.0.1', '::1'] : [name]
}

/** `BlockList` takes all spellings of an IPv6 address for the same, also those with IPv4 within, but it ignores zones (`fe80::1%eth0`). */
function isSame(a: string, b: string): boolean {
  if (isIP(a) === 0 || isIP(b) === 0 || zoneOf(a) !== zoneOf(b)) return a === b
  const list = new BlockList()
  list.addAddress(a, familyOf(a))
  return list.check(b, familyOf(b))
}

function zoneOf(address: string): string | undefined {
  return address.split('%')[1]
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}

/**
 * An http or https URL without user, password and fragment.
 * @param form the form that it should have, for the problem of any other text
 * @param query whether it may have a query
 * @param cure what else to do about a password. Default nothing
 */
function httpUrl(text: string, form: string, query: boolean, cure = ''): Reading<URL> {
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\//i.test(text)) return { problem: `is not an ${form}` }
  if (url.username !== '' || url.password !== '') return { problem: `holds a user or password: remove it${cure}` }
  if (!query && /[?#]/.test(text)) return { problem: 'holds a query or fragment: remove it' }
  return url.hash === '' ? { value: url } : { problem: 'holds a fragment: remove it' }
}

/**
 * An http or https URL of a host and a port, perhaps with a path. The result has origin and path, without a slash at
 * the end.
 */
export function parseUpstream(text: string): Reading<string> {
  const also = ', and give the upstream a secret with upstream.headers'
  const reading = httpUrl(text, 'http or https URL: write one like http://127.0.0.1:9000', false, also)
  if ('problem' in reading) return reading
  // The path is taken from the text, because a parsed URL has lost the segments `.` and `..`.
  const path = /^https?:\/\/[^/]*(.*?)\/?$/i.exec(text)?.[1] ?? ''
  if (!BASE_PATH.test(path) || path.length > 1024) {
    const cure =
      "write one like /base, of letters, digits and - . _ ~ ! $ & ' ( ) * + , = : @, without empty segments and dots alone"
    return { problem: `holds the path ${quote(path)}: ${cure}` }
  }
  return { value: reading.value.origin + path }
}

/** Allows only one spelling, which can be joined with the canonical path of a request. */
const BASE_PATH = /^(?:\/(?!\.\.?(?:\/|$))[\w.~!$&'()*+,=:@-]+)*$/

/** `preserve`, `upstream`, or the value of a Host field. */
export function parseHost(text: string): Reading<string> {
  const [, port] = /^(?:[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/.exec(text) ?? [null, '-']
  if (Number(port ?? 0) <= 65_535) return { value: text }
  return {
    problem: `${quote(text)} is no host: write preserve, upstream, or a name like shop.example or shop.example:8443`,
  }
}

/** The longest path of a Unix socket in bytes: `sun_path` of Linux without the zero byte at its end. */
export const MAX_SOCKET_PATH = 107

/** The place of an issuer's keys. */
export function parseKeys(text: string): Reading<IssuerKeys> {
  if (text.startsWith('file:')) return parseFile(text.slice(5))
  if (!/^https?:\/\//i.test(text)) return { problem: 'is not a key source: write https://HOST/PATH or file:PATH' }
  const reading = parseProvider(text, 'put in other keys', KEYS_BY_FILE)
  return 'problem' in reading ? reading : { value: { kind: 'url', url: reading.value } }
}

const KEYS_BY_FILE =
  '. Inside a cluster give the issuer a certificate, with its authority in NODE_EXTRA_CA_CERTS, or mount its keys and write file:./jwks.json'

/** The address of an introspection provider. */
export function parseIntrospection(text: string): Reading<string> {
  return parseProvider(text, 'read credentials, and answer for the provider')
}

/** The issuer where people sign in. */
export function parseOpenidIssuer(text: string): Reading<string> {
  if (URL.parse(text)?.search) return { problem: 'holds a query: write the URL of the issuer alone' }
  return parseProvider(text, 'sign in as any administrator')
}

/**
 * @param danger what somebody on the way could do without TLS
 * @param otherWay another cure. Default none
 */
function parseProvider(text: string, danger: string, otherWay = ''): Reading<string> {
  const reading = httpUrl(text, 'https URL: write https://HOST/PATH', true)
  if ('problem' in reading) return reading
  const url = reading.value
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    return {
      problem: `is http, so anyone on the way could ${danger}: write https (http is for loopback hosts)${otherWay}`,
    }
  }
  return { value: url.href }
}

function parseFile(path: string): Reading<IssuerKeys> {
  if (path === '') return { problem: 'names no file: write file:PATH, like file:./jwks.json' }
  return { value: { kind: 'file', path: path.replace(/^\/\/(?=\/)/, '') } }
}

const STORES =
  'write sqlite:PATH, redis://HOST:PORT, redis+unix:///PATH, redis+sentinel://HOST:PORT,HOST:PORT/NAME or redis+cluster://HOST:PORT,HOST:PORT; rediss with two s, also rediss+sentinel and rediss+cluster, is by TLS; valkey may stand for redis'

/** The prefix of every key in Redis. A brace in it would end the hash tag of a key, and mix the keys of two stores. */
export const PREFIX = /^[A-Za-z0-9_.:-]{1,64}$/
export const NOT_A_PREFIX = 'is not a prefix: write 1 to 64 letters, digits, "_", ".", ":" or "-"'

/** The place of the counters. */
export function parseStore(text: string): Reading<StoreLocation> {
  if (text.startsWith('sqlite:')) return parseSqlite(text.slice(7))
  const [, encrypted, kind] = /^(?:redis|valkey)(s?)(?:\+(sentinel|cluster|unix))?:\/\//.exec(text) ?? []
  if (encrypted === undefined) return { problem: `is not a store: ${STORES}` }
  if (!isDecodable(text)) return { problem: 'has a bad percent escape: write %25 for "%"' }
  if (kind === undefined) return parseRedis(text, encrypted === 's')
  return kind === 'unix' ? parseSocket(text, encrypted === 's') : parseSeveral(text, encrypted === 's')
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function parseSqlite(path: string): Reading<StoreLocation> {
  if (path === '' || path.includes('\0'))
    return { problem: 'names no file: write sqlite:PATH, like sqlite:./tollgate.db' }
  if (path.startsWith('//') && !path.startsWith('///')) return { problem: `holds "//": write sqlite:${path.slice(2)}` }
  return { value: { kind: 'sqlite', path: path.replace(/^\/\/(?=\/)/, '') } }
}

function parseRedis(text: string, encrypted: boolean): Reading<StoreLocation> {
  const url = URL.parse(text)
  if (url === null || url.hostname === '')
    return {
      problem: 'is not a Redis URL: write redis://HOST:PORT, and escape special characters of a password with %XX',
    }
  if (url.search !== '' || url.hash !== '')
    return { problem: 'holds a query or fragment: remove it; in a password write %3F and %23' }
  if (!/^(?:\/\d{0,5})?$/.test(url.pathname))
    return {
      problem:
        'ends in something that is no database number: write redis://HOST:PORT/0; in a password write %2F for "/"',
    }
  return { value: { kind: 'redis', topology: 'single', encrypted, url: text } }
}

function parseSocket(text: string, encrypted: boolean): Reading<StoreLocation> {
  const [, path] = /^[a-z+]+:\/\/(?:[^:@/?#]*(?::[^@/?#]*)?@)?(\/[^?#]+)$/.exec(text) ?? []
  if (path === undefined)
    return { problem: 'names no socket: write redis+unix:///PATH, like redis+unix:///run/redis.sock' }
  if (encrypted) return { problem: 'is TLS on a Unix socket, which Redis does not have: write redis+unix' }
  if (Buffer.byteLength(decodeURIComponent(path)) > MAX_SOCKET_PATH) {
    return { problem: `names a socket of more than ${MAX_SOCKET_PATH} bytes, which no system has: shorten its path` }
  }
  return { value: { kind: 'redis', topology: 'single', encrypted, url: text } }
}

function parseSeveral(text: string, encrypted: boolean): Reading<StoreLocation> {
  const [, kind, hosts = '', path = ''] =
    /^[a-z]+\+(sentinel|cluster):\/\/(?:[^:@/?#]*(?::[^@/?#]*)?@)?([^/@?#]+)(?:\/([^?#]*))?$/.exec(text) ?? []
  if (kind === undefined) return { problem: `is not a list of Redis hosts: ${STORES}` }
  const topology = kind as 'sentinel' | 'cluster'
  for (const host of hosts.split(',')) {
    const reading = parseHostPort(host)
    if ('problem' in reading) return reading
  }
  if (topology === 'cluster' && path !== '') return { problem: 'names a database: a cluster has only one, remove it' }
  if (topology === 'sentinel' && !/^[\w.-]{1,128}$/.test(path)) {
    return { problem: 'does not name the master set: write redis+sentinel://HOST:PORT,HOST:PORT/NAME' }
  }
  return { value: { kind: 'redis', topology, encrypted, url: text } }
}

/** An address, or a network like 10.0.0.0/8. */
export function parseSubnet(text: string): Reading<Subnet> {
  const [address = '', length, more] = text.split('/')
  const version = isIP(address)
  const bits = version === 4 ? 32 : 128
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  if (version === 0 || more !== undefined || address.includes('%') || !(prefix <= bits)) {
    return { problem: `${quote(text)} is not an address or network: write one like 10.0.0.0/8 or ::1` }
  }
  return { value: { address, prefix, family: familyOf(address) } }
}

/** Unreserved characters only (RFC 3986), which have one spelling and are safe in a page and in a header. */
const PAGE_PATH = /^(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)+$/

/** The path of one of our pages: a plain path, which is not the root and has no slash at its end. */
export function parsePagePath(text: string): Reading<string> {
  if (text === '/') return { problem: 'is the root, which belongs to the upstream: write one like /reference' }
  if (text.length <= 200 && PAGE_PATH.test(text)) return { value: text }
  const cure = 'write one like /reference, of letters, digits, "-", ".", "_", "~", without a slash at the end'
  return { problem: `${quote(text)} is not a plain path: ${cure}` }
}

/** The address at which browsers reach a service: an origin, perhaps with a path, without a slash at the end. */
export function parseServiceUrl(text: string): Reading<string> {
  const reading = httpUrl(text, 'http or https URL: write one like http://127.0.0.1:9002', false)
  return 'problem' in reading ? reading : { value: reading.value.href.replace(/\/+$/, '') }
}

/** The address for events. Its path may be secret, so it is never repeated. */
export function parseWebhook(text: string): Reading<string> {
  const reading = httpUrl(text, 'http or https URL: write one like https://HOST/PATH', true)
  return 'problem' in reading ? reading : { value: reading.value.href }
}

const WEBHOOK_KEY = /^whsec_([A-Za-z0-9+/]+={0,2})$/
const NEW_KEY = 'make one with: echo "whsec_$(openssl rand -base64 32)"'

/** A key in the form of Standard Webhooks. Some receivers would read a text in another form as base64, and others would not. */
export function parseWebhookSecret(text: string): Reading<string> {
  if (!text.startsWith('whsec_')) return { problem: `does not begin with whsec_: ${NEW_KEY}` }
  const base64 = WEBHOOK_KEY.exec(text)?.[1] ?? ''
  const key = Buffer.from(base64, 'base64')
  if (base64 === '' || key.toString('base64') !== base64) {
    return { problem: `is not whsec_ and base64 with its padding: ${NEW_KEY}` }
  }
  if (key.length < 24 || key.length > 64) {
    return { problem: `is a key of ${key.length} bytes, and 24 to 64 are needed: ${NEW_KEY}` }
  }
  return { value: text }
}
