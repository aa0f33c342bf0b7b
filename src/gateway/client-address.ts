import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Asking } from '../auth/asking.ts'
import { type Caller, isMissing } from '../auth/authenticator.ts'
import type { ClientPeer } from '../edge/connection.ts'
import type { Denial } from '../errors.ts'
import { saidIn } from '../lib/forwarded.ts'
import { peerOf } from '../lib/peers.ts'
import type { Rules } from './snapshot.ts'

/** By which a proxy names the hops before it. Forwarded counts where there is no X-Forwarded-For. */
type Hops = Pick<IncomingHttpHeaders, 'forwarded'> & { readonly 'x-forwarded-for'?: string | string[] | undefined }

/**
 * The client of a request, as `peerOf` names it: its peer, or, behind proxies that are trusted, the last address that they name and
 * that is none of theirs. `null` if such a proxy names nobody.
 */
export function addressOf(
  { address, peer }: Pick<ClientPeer, 'address' | 'peer'>,
  hops: Hops,
  isProxy: (address: string) => boolean,
): string | null {
  if (!isProxy(address)) return peer
  const client = named(hops, isProxy)
  return client === null ? null : peerOf(client)
}

/** The whole address of the client; that of the proxy itself if a proxy that is trusted names nobody. */
export function wholeAddressOf(
  { address }: Pick<ClientPeer, 'address'>,
  hops: Hops,
  isProxy: (address: string) => boolean,
): string {
  return (isProxy(address) ? named(hops, isProxy) : null) ?? address
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
function named(
  { 'x-forwarded-for': forwardedFor, forwarded }: Hops,
  isProxy: (address: string) => boolean,
): string | null {
  const isStandard = forwardedFor === undefined && forwarded !== undefined
  const hops = String(isStandard ? forwarded : (forwardedFor ?? ''))
  for (let end = hops.length; end >= 0; ) {
    const comma = end === 0 ? -1 : hops.lastIndexOf(',', end - 1)
    const hop = hops.slice(comma + 1, end)
    const address = withoutPort(isStandard ? saidIn(hop, 'for') : hop.trim())
    if (isIP(address) === 0) return null
    if (!isProxy(address)) return address
    end = comma
  }
  return null
}

/** Some proxies write the port behind the address. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}
