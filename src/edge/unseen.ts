import { householdOf } from '../lib/peers.ts'

/** What one address, or one IPv6 /48, may send in a second that nobody looks at, in bytes, on all its connections. */
const MAX_BYTES = 16 * 1024 * 1024
const PERIOD_MS = 1000

/** Bytes in this second, by household. */
const sent = new Map<string, number>()

/**
 * Whether what an address goes on sending behind the last response of a connection is read at once. A client that is still sending
 * would lose that response by a reset. A thousand that never end would take all the time of the gateway.
 *
 * @param peer what the address counts as, see `peerOf`
 * @param bytes that have come
 */
export function isReadAtOnce(peer: string, bytes: number): boolean {
  if (sent.size === 0) setTimeout(() => sent.clear(), PERIOD_MS).unref()
  const household = householdOf(peer)
  const sum = (sent.get(household) ?? 0) + bytes
  sent.set(household, sum)
  return sum <= MAX_BYTES
}
