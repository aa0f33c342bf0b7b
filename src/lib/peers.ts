import { isIPv4, isIPv6 } from 'node:net'

/**
 * What counts as one client: an IPv4 address, or an IPv6 network of 64 bits, since that is what one subscriber gets. IPv4 in IPv6 is
 * IPv4 in each spelling, see `wordsOf`.
 *
 * @param address as in `socket.remoteAddress`, or as a proxy names it
 * @returns `unknown` for what is no address, as of a socket that is gone
 */
export function peerOf(address: string): string {
  // A socket of both families has no other spelling of IPv4.
  const usual = address.startsWith('::ffff:') ? address.slice(7) : address
  if (isIPv4(usual)) return usual
  const words = wordsOf(address)
  if (words === null) return 'unknown'
  return words.length === 2 ? dotted(words) : `${hex(words.slice(0, 4))}::/64`
}

/**
 * The IPv6 network of 48 bits around a peer, which is what one household or office is given at most, and holds 65,536 peers; `null` for
 * IPv4, and for what is no address.
 *
 * @param peer as `peerOf` has it
 */
export function widerNetworkOf(peer: string): string | null {
  if (!peer.endsWith('::/64')) return null
  const groups = peer.slice(0, -5).split(':')
  return groups.length < 3 ? null : `${groups.slice(0, 3).join(':')}::/48`
}

/**
 * What counts as one household: the IPv6 network of 48 bits around a peer, or the peer itself. Who takes turns, rests or gives way does so
 * as a household: 65,536 peers of one would each be the last one otherwise.
 *
 * @param peer as `peerOf` has it
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
 * @returns `unknown` for what is no address, as of a socket that is gone
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
 * translators name the IPv4 clients of an IPv6 network (RFC 6052, RFC 7755). Each would be one client otherwise, with all of IPv4 in it.
 */
const WITHIN_IPV6 = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
]

/**
 * The 2 words of IPv4, of 16 bits each, also of one within IPv6, or the 8 of IPv6, in whatever way the address is written:
 * `::ffff:c000:201`, `::FFFF:192.0.2.1` and `0:0:0:0:0:ffff:192.0.2.1%eth0` are the words of 192.0.2.1. `null` for what is no address.
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

/** As RFC 5952 has it, without IPv4 in it. */
function spelt(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1)
}
