import { expect, it } from 'vitest'
import { MAX_PREFACE, prefaceOf } from '../../src/edge/proxy-protocol.ts'

const text = (line: string): Buffer => Buffer.from(line, 'latin1')

/** Version 2 by hand: version and command, family and transport, and all that the length counts. */
function binary(command: number, family: number, rest: readonly number[]): Buffer {
  const head = text('\r\n\r\n\0\r\nQUIT\n\0\0\0\0')
  head[12] = command
  head[13] = family
  head.writeUInt16BE(rest.length, 14)
  return Buffer.concat([head, Buffer.from(rest)])
}

const IPV4 = [192, 0, 2, 7, 10, 0, 0, 1, 0xd4, 0x31, 1, 0xbb]
const IPV6 = [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 7, ...Array(15).fill(0), 1, 0xd4, 0x31, 1, 0xbb]
const MAPPED = [...Array(10).fill(0), 255, 255, 192, 0, 2, 7, ...Array(16).fill(0), 0xd4, 0x31, 1, 0xbb]
const TLV = [4, 0, 3, 1, 2, 3]

it.each([
  ['a line of IPv4', text('PROXY TCP4 192.0.2.7 10.0.0.1 54321 443\r\n'), '192.0.2.7'],
  ['a line of IPv6', text('PROXY TCP6 2001:DB8:0::7 2001:db8::1 54321 443\r\n'), '2001:db8::7'],
  ['a line of IPv4 within IPv6', text('PROXY TCP6 ::ffff:192.0.2.7 ::ffff:10.0.0.1 54321 443\r\n'), '192.0.2.7'],
  ['bytes of IPv4', binary(0x21, 0x11, IPV4), '192.0.2.7'],
  ['bytes of IPv6', binary(0x21, 0x21, IPV6), '2001:db8::7'],
  ['bytes of IPv4 within IPv6', binary(0x21, 0x21, MAPPED), '192.0.2.7'],
  ['bytes with facts behind the addresses', binary(0x21, 0x11, [...IPV4, ...TLV]), '192.0.2.7'],
  ['bytes as long as they may be', binary(0x21, 0x11, [...IPV4, ...Array(MAX_PREFACE - 28).fill(0)]), '192.0.2.7'],
])('the preface of a connection says the address of the client in its one spelling: %s', (_what, preface, address) => {
  const whole = { length: preface.length, from: { kind: 'client', address } }
  expect(prefaceOf(preface)).toEqual(whole)
  expect(prefaceOf(Buffer.concat([preface, text('PROXY GET /')]))).toEqual(whole)
  for (let length = 0; length < preface.length; length++) {
    expect(prefaceOf(preface.subarray(0, length)), `${length} bytes`).toBe('more')
  }
})

it.each([
  ['a line for nobody', text('PROXY UNKNOWN\r\n'), 'unknown'],
  ['a line for nobody, with whatever behind it', text('PROXY UNKNOWN ffff:: x 1 2\r\n'), 'unknown'],
  ['no family', binary(0x21, 0, []), 'unknown'],
  ['a socket of a file', binary(0x21, 0x31, Array(216).fill(65)), 'unknown'],
  ['datagrams', binary(0x21, 0x12, IPV4), 'unknown'],
  ['the load balancer itself', binary(0x20, 0, []), 'local'],
  ['the load balancer itself, with addresses that do not count', binary(0x20, 0x11, [...IPV4, ...TLV]), 'local'],
])('the preface of a connection says no address: %s', (_what, preface, kind) => {
  expect(prefaceOf(preface)).toEqual({ length: preface.length, from: { kind } })
})

it.each([
  ['a request', text('GET / HTTP/1.1\r\n')],
  ['a handshake of TLS', Buffer.from([0x16, 3, 1, 2, 0])],
  ['empty lines before a request', text('\r\n\r\nGET /')],
  ['small letters', text('proxy TCP4 192.0.2.7 10.0.0.1 1 2\r\n')],
  ['a line that ends in LF alone, and goes on', text(`PROXY TCP4 192.0.2.7 10.0.0.1 1 2\n${'x'.repeat(107)}`)],
  ['a line longer than 107 bytes', text(`PROXY UNKNOWN ${'x'.repeat(92)}\r\n`)],
  ['two blanks', text('PROXY TCP4  192.0.2.7 10.0.0.1 1 2\r\n')],
  ['an address of the other family', text('PROXY TCP4 2001:db8::7 10.0.0.1 1 2\r\n')],
  ['IPv4 as an address of IPv6', text('PROXY TCP6 192.0.2.7 10.0.0.1 1 2\r\n')],
  ['a network', text('PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n')],
  ['octal digits', text('PROXY TCP4 192.0.2.07 10.0.0.1 1 2\r\n')],
  ['a port above all', text('PROXY TCP4 192.0.2.7 10.0.0.1 65536 2\r\n')],
  ['no ports', text('PROXY TCP4 192.0.2.7 10.0.0.1\r\n')],
  ['another version', binary(0x31, 0x11, IPV4)],
  ['another command', binary(0x22, 0x11, IPV4)],
  ['another family', binary(0x21, 0x41, IPV4)],
  ['another transport', binary(0x21, 0x13, IPV4)],
  ['less than two addresses of IPv4', binary(0x21, 0x11, IPV4.slice(1))],
  ['less than two addresses of IPv6', binary(0x21, 0x21, IPV6.slice(1))],
  ['more bytes than it may have', binary(0x21, 0x11, Array(MAX_PREFACE - 15).fill(0))],
])('the preface of a connection is none: %s', (_what, bytes) => {
  expect(prefaceOf(bytes)).toBe('none')
})
