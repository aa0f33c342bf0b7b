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

/** Whoever sends the request can write what it likes before the part that our proxies have added. */
function named(forwardedFor: string | string[] | undefined, isProxy: (address: string) => boolean): string | null {
  const hops = String(forwardedFor ?? '').split(',')
  for (const hop of hops.reverse()) {
    const address = withoutPort(hop.trim())
    if (isIP(address) === 0) return null
    if (!isProxy(address)) return peerOf(address)
  }
  return null
}

/** Some proxies write the port behind the address. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}
