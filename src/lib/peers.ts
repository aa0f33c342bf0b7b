import { isIPv4 } from 'node:net'

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
