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
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0::/64'],
  ])('as %s is of the client %s', (address, peer) => {
    expect(peerOf(address)).toBe(peer)
  })

  it('in another network of 64 bits is of another client', () => {
    expect(peerOf('2001:db8:1:2::1')).not.toBe(peerOf('2001:db8:1:3::1'))
    expect(peerOf('192.0.2.1')).not.toBe(peerOf('192.0.2.2'))
  })
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
    ['64:ff9b::1.2.3.4', 32, 128, '64:ff9b::102:304'],
    ['fe80::1%eth0', 32, 64, 'fe80::/64'],
    ['::1', 32, 64, '::/64'],
    ['', 32, 64, 'unknown'],
  ])('%s by %i and %i bits is %s', (address, ipv4, ipv6, network) => {
    expect(networkOf(address, { ipv4, ipv6 })).toBe(network)
  })

  it('has exactly the addresses that share so many bits, as Node counts them', () => {
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
  })
})

function ipv6Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').match(/..../g)?.join(':') ?? ''
}
