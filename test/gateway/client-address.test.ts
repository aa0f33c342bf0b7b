import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { createAddressOf } from '../../src/gateway/client-address.ts'

const isProxy = (address: string): boolean => address.startsWith('10.') || address === '::1'
const addressOf = createAddressOf()
const of = (remoteAddress: string, forwardedFor?: string): string | null =>
  addressOf(
    { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwardedFor } } as unknown as IncomingMessage,
    isProxy,
  )

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
  ['nobody, where a trusted proxy names none', '10.0.0.1', undefined, null],
  ['nobody, where it names no address', '10.0.0.1', '1.1.1.1, unknown', null],
  ['nobody, where all are trusted', '10.0.0.1', '10.0.0.2, 10.0.0.3', null],
])('a request counts for %s', (_what, peer, forwardedFor, address) => {
  expect(of(peer, forwardedFor)).toBe(address)
})
