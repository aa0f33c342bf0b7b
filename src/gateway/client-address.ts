import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Asking } from '../auth/asking.ts'
import { type Caller, isMissing } from '../auth/authenticator.ts'
import type { ClientPeer } from '../edge/connection.ts'
import type { Denial } from '../errors.ts'
import { saidIn } from '../lib/forwarded.ts'
import { peerOf } from '../lib/peers.ts'
import type { Rules } from './snapshot.ts'

/** The fields in which proxies name earlier hops. Forwarded is read only if there is no X-Forwarded-For. */
type Hops = Pick<IncomingHttpHeaders, 'forwarded'> & { readonly 'x-forwarded-for'?: string | string[] | undefined }

/**
 * The client of a request as `peerOf` names it: its peer or, behind trusted proxies, the last address in their list that is not a
 * proxy's. `null` if such a proxy names nobody.
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

/** The whole address of the client, or that of the trusted proxy if it names nobody. */
export function wholeAddressOf(
  { address }: Pick<ClientPeer, 'address'>,
  hops: Hops,
  isProxy: (address: string) => boolean,
): string {
  return (isProxy(address) ? named(hops, isProxy) : null) ?? address
}

/**
 * The caller of a request without a valid credential: the user of its address, if `auth.shadow` is set, or if the request has no credential
 * and needs none. @returns otherwise `refused` itself
 * @param anonymous whether the request needs no credential
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
 * A sender can write anything before the part that our proxies have added. A header has room for thousands of commas, so only the
 * last part is parsed.
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

/** Some proxies add the port to the address. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}
