import { BlockList, isIPv4 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { networkOf, peerOf } from '../../src/lib/peers.ts'

describe('an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8:0000:0000:0000:0000:0000:0001', '2001:db8:0:0::/64'],
    ['2001:db8:1::', '2001:db8:1:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1%eth0', '192.0.2.1'],
    ['64:ff9b::192.0.2.1', '192.0.2.1'],
    ['0064:FF9B::C000:0201', '192.0.2.1'],
    ['64:ff9b:1::192.0.2.1', '64:ff9b:1:0::/64'],
    ['::192.0.2.1', '0:0:0:0::/64'],
    ['', 'unknown'],
    ['192.0.2', 'unknown'],
  ])('as %s is of the client %s', (address, peer) => {
    expect(peerOf(address)).toBe(peer)
  })

  it('in another network of 64 bits is of another client', () => {
    expect(peerOf('2001:db8:1:2::1')).not.toBe(peerOf('2001:db8:1:3::1'))
    expect(peerOf('192.0.2.1')).not.toBe(peerOf('192.0.2.2'))
  })

  it('an address is one client in each way to write it, and IPv4 in IPv6 is the client of IPv4', () => {
    fc.assert(
      fc.property(bytes(4), ways, (ipv4, way) => {
        const address = ipv4.join('.')
        for (const network of [MAPPED, TRANSLATED]) {
          const within = written(Uint8Array.of(...network, ...ipv4), way)
          expect(peerOf(within), within).toBe(address)
          expect(networkOf(within, { ipv4: 32, ipv6: 64 }), within).toBe(address)
        }
      }),
    )
    fc.assert(
      fc.property(bytes(16), ways, (ipv6, way) => {
        const address = written(ipv6, way)
        expect(peerOf(address), address).toBe(peerOf(ipv6Of(ipv6)))
        expect(peerOf(address), address).toMatch(/^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){3}::\/64$/)
      }),
    )
  }, 60_000)
})

describe('the network of an address', () => {
  it.each([
    ['192.0.2.1', 32, 64, '192.0.2.1'],
    ['192.0.2.255', 25, 64, '192.0.2.128/25'],
    ['192.0.2.255', 8, 64, '192.0.0.0/8'],
    ['::ffff:192.0.2.255', 24, 64, '192.0.2.0/24'],
    ['::FFFF:C000:2ff', 24, 64, '192.0.2.0/24'],
    ['0:0:0:0:0:ffff:c000:02ff', 32, 64, '192.0.2.255'],
    ['2001:0DB8::1', 32, 128, '2001:db8::1'],
    ['2001:db8:1:2:3:4:5:6', 32, 64, '2001:db8:1:2::/64'],
    ['2001:db8:1:2ff::', 32, 57, '2001:db8:1:280::/57'],
    ['64:ff9b::1.2.3.4', 32, 128, '1.2.3.4'],
    ['64:ff9b:1::1.2.3.4', 32, 128, '64:ff9b:1::102:304'],
    ['fe80::1%eth0', 32, 64, 'fe80::/64'],
    ['::1', 32, 64, '::/64'],
    ['', 32, 64, 'unknown'],
  ])('%s by %i and %i bits is %s', (address, ipv4, ipv6, network) => {
    expect(networkOf(address, { ipv4, ipv6 })).toBe(network)
  })

  it('the network of an address has exactly the addresses that share so many bits, as Node counts them', () => {
    const bits = fc.record({ ipv4: fc.integer({ min: 8, max: 32 }), ipv6: fc.integer({ min: 32, max: 128 }) })
    const near = fc.tuple(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.integer({ min: 0, max: 127 }))
    fc.assert(
      fc.property(near, bits, fc.boolean(), ([bytes, flip], bits, short) => {
        const other = Uint8Array.from(bytes)
        other[flip >> 3] = (other[flip >> 3] ?? 0) ^ (0x80 >> (flip & 7))
        const [a, b] = [bytes, other].map((of) => (short ? of.slice(0, 4).join('.') : ipv6Of(of)))
        const family = short ? 'ipv4' : 'ipv6'
        const list = new BlockList()
        list.addSubnet(a ?? '', bits[family], family)
        expect(isIPv4(a ?? '')).toBe(short)
        expect(networkOf(a ?? '', bits) === networkOf(b ?? '', bits)).toBe(list.check(b ?? '', family))
      }),
    )
  }, 60_000)
})

function ipv6Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').match(/..../g)?.join(':') ?? ''
}

const MAPPED = [...Array(10).fill(0), 255, 255]
const TRANSLATED = [0, 0x64, 0xff, 0x9b, ...Array(8).fill(0)]

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

/** How an address of IPv6 is written. */
interface Way {
  readonly short: boolean
  readonly zeros: boolean
  readonly dots: boolean
  readonly upper: boolean
  readonly zone: string
}

const ways = fc.record<Way>({
  short: fc.boolean(),
  zeros: fc.boolean(),
  dots: fc.boolean(),
  upper: fc.boolean(),
  zone: fc.constantFrom('', '%eth0', '%1'),
})

function written(ipv6: Uint8Array, { short, zeros, dots, upper, zone }: Way): string {
  const groups = ipv6Of(ipv6).split(':')
  const plain = groups.map((group) => (zeros ? group : group.replace(/^0+(?=.)/, '')))
  const all = [...plain.slice(0, 6), ...(dots ? [ipv6.slice(12).join('.')] : plain.slice(6))].join(':')
  const text = short ? all.replace(/(?:^|:)0+(?::0+)+(?:$|:)/, '::') : all
  return (upper ? text.toUpperCase() : text) + zone
}
