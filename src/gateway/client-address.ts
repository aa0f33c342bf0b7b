import { isIP } from 'node:net'
import type { ClientPeer } from '../edge/connection.ts'
import { peerOf } from '../lib/peers.ts'

/**
 * The client of a request, as `peerOf` names it: its peer, or, behind proxies that are trusted, the last address of
 * X-Forwarded-For that is none of theirs. `null` if such a proxy names nobody.
 */
export function addressOf(
  { address, peer }: ClientPeer,
  forwardedFor: string | string[] | undefined,
  isProxy: (address: string) => boolean,
): string | null {
  return isProxy(address) ? named(forwardedFor, isProxy) : peer
}

/**
 * Whoever sends the request can write what it likes before the part that our proxies have added. A header has room for thousands of
 * commas: only the part that counts is taken apart.
 */
function named(forwardedFor: string | string[] | undefined, isProxy: (address: string) => boolean): string | null {
  const hops = String(forwardedFor ?? '')
  for (let end = hops.length; end >= 0; ) {
    const comma = end === 0 ? -1 : hops.lastIndexOf(',', end - 1)
    const address = withoutPort(hops.slice(comma + 1, end).trim())
    if (isIP(address) === 0) return null
    if (!isProxy(address)) return peerOf(address)
    end = comma
  }
  return null
}

/** Some proxies write the port behind the address. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}
