import { expect, it } from 'vitest'
import { addressesIn, saidIn } from '../../src/lib/forwarded.ts'

it.each([
  ['for=192.0.2.1;host=a.test;proto=https', { for: '192.0.2.1', host: 'a.test', proto: 'https' }],
  [' For = "[2001:db8::1]:80" ;by=x', { for: '[2001:db8::1]:80', host: '', proto: '' }],
  ['for=1;for=2;host=a', { for: '', host: 'a', proto: '' }],
  ['for="a;b"', { for: '"a', host: '', proto: '' }],
  ['constructor=1;;=2;for', { for: '', host: '', proto: '' }],
  ['', { for: '', host: '', proto: '' }],
])('%j says %j', (element, hop) => {
  const [address, host, proto] = (['for', 'host', 'proto'] as const).map((name) => saidIn(element, name))
  expect({ for: address, host, proto }).toEqual(hop)
})

it.each([
  ['for=1.1.1.1, for="[::1]:4", proto=http, for=_x', '1.1.1.1, [::1]:4, unknown, _x'],
  ['for="a, for=1.1.1.1,,', 'unknown, 1.1.1.1'],
  ['for="1.1.1.1, 2.2.2.2"', 'unknown, unknown'],
])('%s names %s', (forwarded, addresses) => {
  expect(addressesIn(forwarded)).toBe(addresses)
})
