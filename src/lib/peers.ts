import { isIPv4, isIPv6 } from 'node:net'

/**
 * The peer that an address counts as: an IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber gets. IPv4 in
 * IPv6 is IPv4 in each spelling, see `wordsOf`.
 *
 * @param address as in `socket.remoteAddress`, or as a proxy names it
 * @returns `unknown` for a text that is no address, as for a socket that is gone
 */
export function peerOf(address: string): string {
  // A socket of both families always spells IPv4 like this.
  const usual = address.startsWith('::ffff:') ? address.slice(7) : address
  if (isIPv4(usual)) return usual
  const words = wordsOf(address)
  if (words === null) return 'unknown'
  return words.length === 2 ? dotted(words) : `${hex(words.slice(0, 4))}::/64`
}

/**
 * The IPv6 network of 48 bits around a peer. A household or office gets at most such a network, which holds 65,536 peers. `null` for
 * IPv4, and for a text that is no address.
 *
 * @param peer as `peerOf` makes it
 */
export function widerNetworkOf(peer: string): string | null {
  if (!peer.endsWith('::/64')) return null
  const groups = peer.slice(0, -5).split(':')
  return groups.length < 3 ? null : `${groups.slice(0, 3).join(':')}::/48`
}

/**
 * The household of a peer: the IPv6 network of 48 bits around it, or the peer itself. Turns, rests and giving way go by household.
 * Otherwise one network could have 65,536 peers, each with a turn of its own.
 *
 * @param peer as `peerOf` makes it
 */
export function householdOf(peer: string): string {
  return widerNetworkOf(peer) ?? peer
}

/** How many bits of an address count. */
export interface NetworkBits {
  /** 0 to 32. */
  readonly ipv4: number
  /** 0 to 128. */
  readonly ipv6: number
}

/**
 * The network of an address in its one spelling: `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/64`. IPv4 in IPv6 is IPv4, see `wordsOf`.
 *
 * @param address as in `socket.remoteAddress`, or as a proxy names it
 * @returns `unknown` for a text that is no address, as for a socket that is gone
 */
export function networkOf(address: string, { ipv4, ipv6 }: NetworkBits): string {
  const words = wordsOf(address)
  if (words === null) return 'unknown'
  const [bits, all] = words.length === 2 ? [ipv4, 32] : [ipv6, 128]
  const network = masked(words, bits)
  const text = words.length === 2 ? dotted(network) : spelt(hex(network))
  return bits === all ? text : `${text}/${bits}`
}

/**
 * IPv6 networks of 96 bits that hold all of IPv4, in words: `::ffff:192.0.2.1` of a socket of both families, and `64:ff9b::192.0.2.1`, as
 * translators name IPv4 clients (RFC 6052, RFC 7755). Otherwise each network would be one client with all of IPv4 in it.
 */
const WITHIN_IPV6 = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
]

/**
 * The words of an address, of 16 bits each: 2 for IPv4, also within IPv6, and 8 for IPv6. The spelling does not matter:
 * `::ffff:c000:201`, `::FFFF:192.0.2.1` and `0:0:0:0:0:ffff:192.0.2.1%eth0` are 192.0.2.1. `null` if it is no address.
 */
function wordsOf(address: string): number[] | null {
  const bare = address.replace(/%.*$/s, '')
  if (isIPv4(bare)) return dottedWords(bare)
  if (!isIPv6(bare)) return null
  const [before = [], after = []] = bare.split('::').map(hexWords)
  const words = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
  return WITHIN_IPV6.some((network) => network.every((word, i) => word === words[i])) ? words.slice(6) : words
}

function hexWords(groups: string): number[] {
  if (groups === '') return []
  return groups.split(':').flatMap((group) => (group.includes('.') ? dottedWords(group) : Number.parseInt(group, 16)))
}

function dottedWords(ipv4: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number)
  return [(a << 8) | b, (c << 8) | d]
}

function masked(words: readonly number[], bits: number): number[] {
  return words.map((word, i) => word & (0xffff0000 >> Math.min(16, Math.max(0, bits - 16 * i))) & 0xffff)
}

function dotted(words: readonly number[]): string {
  return words.flatMap((word) => [word >> 8, word & 255]).join('.')
}

function hex(words: readonly number[]): string {
  return words.map((word) => word.toString(16)).join(':')
}

/** The spelling of RFC 5952, without IPv4 in it. */
function spelt(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1)
}
