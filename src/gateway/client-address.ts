import { isIP } from 'node:net'
import type { Asking } from '../auth/asking.ts'
import { type Caller, isMissing } from '../auth/authenticator.ts'
import type { ClientPeer } from '../edge/connection.ts'
import type { Denial } from '../errors.ts'
import { peerOf } from '../lib/peers.ts'
import type { Rules } from './snapshot.ts'

/** Fields in which a proxy says for whom it asks. */
export interface Forwarding {
  readonly 'x-forwarded-for'?: string | string[] | undefined
  readonly forwarded?: string | undefined
}

/**
 * The client of a request, as `peerOf` names it: its peer, or, behind proxies that are trusted, the last address of X-Forwarded-For, or
 * where that is missing of Forwarded (RFC 7239), that is none of theirs. `null` if such a proxy names nobody.
 */
export function addressOf(
  { address, peer }: Pick<ClientPeer, 'address' | 'peer'>,
  headers: Forwarding,
  isProxy: (address: string) => boolean,
): string | null {
  if (!isProxy(address)) return peer
  const client = named(headers, isProxy)
  return client === null ? null : peerOf(client)
}

/** The whole address of the client; that of the proxy itself if a proxy that is trusted names nobody. */
export function wholeAddressOf(
  { address }: Pick<ClientPeer, 'address'>,
  headers: Forwarding,
  isProxy: (address: string) => boolean,
): string {
  return (isProxy(address) ? named(headers, isProxy) : null) ?? address
}

/**
 * The caller of a request whose credential is missing or not good: the user of its address, if such callers are let in, or if nobody
 * is refused for that. @returns else `refused` itself
 * @param anonymous whether it needs no credential
 */
export function callerByAddress(
  { callers, isProxy }: Pick<Rules, 'callers' | 'isProxy'>,
  { req, client }: Pick<Asking, 'req' | 'client'>,
  refused: Denial,
  anonymous: boolean,
): Caller | Denial {
  if (!callers.shadow && !(anonymous && isMissing(refused))) return refused
  return callers.ofAddress(wholeAddressOf(client, req.headers, isProxy))
}

/**
 * Whoever sends the request can write what it likes before the part that our proxies have added. A header has room for thousands of
 * commas: only the part that counts is taken apart.
 */
function named(headers: Forwarding, isProxy: (address: string) => boolean): string | null {
  const { 'x-forwarded-for': forwardedFor, forwarded } = headers
  const hops = String(forwardedFor ?? forwarded ?? '')
  for (let end = hops.length; end >= 0; ) {
    const comma = end === 0 ? -1 : hops.lastIndexOf(',', end - 1)
    const element = hops.slice(comma + 1, end).trim()
    const address = withoutPort(forwardedFor === undefined ? forIn(element) : element)
    if (isIP(address) === 0) return null
    if (!isProxy(address)) return address
    end = comma
  }
  return null
}

/** Of an element of Forwarded, as in `for="[2001:db8::1]:4711";proto=https`. */
function forIn(element: string): string {
  const pair = element.split(';', MAX_PAIRS).find((each) => /^\s*for=/i.test(each)) ?? ''
  return pair
    .slice(pair.indexOf('=') + 1)
    .trim()
    .replace(/^"([^"]*)"$/, '$1')
}

/** RFC 7239 has four, and proxies add one or two. */
const MAX_PAIRS = 16

/** Some proxies write the port behind the address. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}
