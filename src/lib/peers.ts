import { isIP, isIPv4 } from 'node:net'

/**
 * What counts as one client: an IPv4 address, or an IPv6 network of 64 bits, since that is what one subscriber gets.
 * IPv4 through a socket of both families (`::ffff:192.0.2.1`) is IPv4.
 *
 * @param address as in `socket.remoteAddress`
 */
export function peerOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1] ?? address
  return isIPv4(mapped) ? mapped : `${firstGroups(mapped)}::/64`
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

/** The first four groups of an IPv6 address, where `::` stands for as many zeros as are missing. */
function firstGroups(address: string): string {
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const before = head.split(':').filter((group) => group !== '')
  const after = (tail ?? '').split(':').filter((group) => group !== '')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  return [...before, ...new Array<string>(zeros).fill('0'), ...after].slice(0, 4).map(short).join(':')
}

/** Proxies that report an address may write it in another way than a socket does. */
function short(group: string): string {
  return group.replace(/^0+(?=.)/, '').toLowerCase()
}

/** How many bits of an address count. */
export interface NetworkBits {
  /** 0 to 32. */
  readonly ipv4: number
  /** 0 to 128. */
  readonly ipv6: number
}

/**
 * The network of an address in its one spelling: `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/64`. IPv4 within IPv6
 * (`::ffff:192.0.2.1`, in any spelling) is IPv4.
 *
 * @param address as in `socket.remoteAddress`, or as a proxy names it
 * @returns `unknown` for what is no address, as of a socket that is gone
 */
export function networkOf(address: string, { ipv4, ipv6 }: NetworkBits): string {
  const bare = address.replace(/%.*$/, '')
  if (isIP(bare) === 0) return 'unknown'
  const bytes = isIPv4(bare) ? bare.split('.').map(Number) : bytesOf(bare)
  const isMapped = bytes.length === 16 && bytes.every((byte, i) => i > 11 || byte === (i < 10 ? 0 : 255))
  return bytes.length === 4 || isMapped ? ipv4Network(bytes.slice(-4), ipv4) : ipv6Network(bytes, ipv6)
}

function ipv4Network(bytes: readonly number[], bits: number): string {
  const network = masked(bytes, bits).join('.')
  return bits === 32 ? network : `${network}/${bits}`
}

function ipv6Network(bytes: readonly number[], bits: number): string {
  const hex = Buffer.from(masked(bytes, bits)).toString('hex')
  const network = spelt(hex.match(/..../g)?.join(':') ?? '')
  return bits === 128 ? network : `${network}/${bits}`
}

function masked(bytes: readonly number[], bits: number): number[] {
  return bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - 8 * i))) & 0xff)
}

function bytesOf(ipv6: string): number[] {
  const [head = '', tail] = spelt(ipv6).split('::')
  const groups = (text = '') => text.split(':').filter((group) => group !== '')
  const zeros = new Array<string>(8 - groups(head).length - groups(tail).length).fill('0')
  const all = [...groups(head), ...zeros, ...groups(tail)].map((group) => group.padStart(4, '0'))
  return [...Buffer.from(all.join(''), 'hex')]
}

/** As RFC 5952 has it, without IPv4 in it. */
function spelt(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1)
}
