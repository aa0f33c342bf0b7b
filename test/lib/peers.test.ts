import { describe, expect, it } from 'vitest'
import { peerOf } from '../../src/lib/peers.ts'

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
