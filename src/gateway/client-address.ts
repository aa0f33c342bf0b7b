import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { peerOf } from '../lib/peers.ts'

export type AddressOf = (req: IncomingMessage, isProxy: (address: string) => boolean) => string | null

/**
 * The client of a request, as `peerOf` names it: its peer, or, behind proxies that are trusted, the last address of
 * X-Forwarded-For that is none of theirs. `null` where such a proxy names nobody.
 */
export function createAddressOf(): AddressOf {
  /** What a peer counts as takes longer to find out than a request may take for it. */
  const known = new WeakMap<object, string>()
  return ({ socket, headers }, isProxy) => {
    const { remoteAddress = '' } = socket
    if (isProxy(remoteAddress)) return named(headers['x-forwarded-for'], isProxy)
    let peer = known.get(socket)
    if (peer === undefined) {
      peer = peerOf(remoteAddress)
      known.set(socket, peer)
    }
    return peer
  }
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
