import { householdOf } from '../lib/peers.ts'

/** How many ignored bytes one address, or one IPv6 /48, may send in a second on all its connections. */
const MAX_BYTES = 16 * 1024 * 1024
const PERIOD_MS = 1000

/** Bytes in this second, by household. */
const sent = new Map<string, number>()

/**
 * Whether bytes after the last response of a connection are read at once. A client that is still sending would lose that response
 * by a reset. But a thousand clients that never stop would take all the time of the gateway.
 *
 * @param peer the party of the address, see `peerOf`
 * @param bytes that have come
 */
export function isReadAtOnce(peer: string, bytes: number): boolean {
  if (sent.size === 0) setTimeout(() => sent.clear(), PERIOD_MS).unref()
  const household = householdOf(peer)
  const sum = (sent.get(household) ?? 0) + bytes
  sent.set(household, sum)
  return sum <= MAX_BYTES
}
