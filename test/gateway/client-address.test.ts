import { expect, it } from 'vitest'
import { addressOf } from '../../src/gateway/client-address.ts'
import { peerOf } from '../../src/lib/peers.ts'

const isProxy = (address: string): boolean => address.startsWith('10.') || address === '::1'
const of = (address: string, forwardedFor?: string): string | null =>
  addressOf({ address, peer: peerOf(address) }, { 'x-forwarded-for': forwardedFor }, isProxy)

it.each([
  ['its peer', '192.0.2.1', undefined, '192.0.2.1'],
  ['its peer, whatever it claims to stand for', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['the network of an IPv6 peer', '2001:db8:1:2:3::4', undefined, '2001:db8:1:2::/64'],
  ['what a trusted proxy names', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  [
    'the last that no trusted proxy has, since the client wrote what is before it',
    '10.0.0.1',
    '1.1.1.1, 198.51.100.7, 10.0.0.9',
    '198.51.100.7',
  ],
  ['an address with its port', '10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
  ['an IPv6 address in brackets, with its port', '::1', '[2001:db8::1]:443', '2001:db8:0:0::/64'],
  ['the IPv4 address that a trusted proxy writes as IPv6', '10.0.0.1', '::ffff:c000:201', '192.0.2.1'],
  ['nobody, if a trusted proxy names none', '10.0.0.1', undefined, null],
  ['nobody, if it names no address', '10.0.0.1', '1.1.1.1, unknown', null],
  ['nobody, if all are trusted', '10.0.0.1', '10.0.0.2, 10.0.0.3', null],
])('a request counts for %s', (_what, peer, forwardedFor, address) => {
  expect(of(peer, forwardedFor)).toBe(address)
})

it.each([
  ['for=198.51.100.7', '198.51.100.7'],
  ['For="[2001:db8::1]:4711";proto=https;by=10.0.0.1', '2001:db8:0:0::/64'],
  ['for=1.1.1.1, for=198.51.100.7;host=a.test, for=10.0.0.9', '198.51.100.7'],
  ['proto=https ; FOR = "198.51.100.7:80"', '198.51.100.7'],
  ['for="1.1.1.1, for=198.51.100.7', '198.51.100.7'],
  ['for=unknown', null],
  ['for=_hidden', null],
  ['for=198.51.100.7;for=1.1.1.1', null],
  ['proto=https', null],
  [`${';'.repeat(8000)}for=198.51.100.7`, null],
  ['', null],
])('a trusted proxy that says Forwarded: %s names %s', (forwarded, address) => {
  const of = (peer: string, hops: { forwarded: string; 'x-forwarded-for'?: string }) =>
    addressOf({ address: peer, peer: peerOf(peer) }, hops, isProxy)
  expect(of('10.0.0.1', { forwarded })).toBe(address)
  expect(of('192.0.2.1', { forwarded })).toBe('192.0.2.1')
  expect(of('10.0.0.1', { forwarded, 'x-forwarded-for': '203.0.113.9' })).toBe('203.0.113.9')
})
