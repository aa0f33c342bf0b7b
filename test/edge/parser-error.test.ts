import { expect, test } from 'vitest'
import { parserDenial } from '../../src/edge/parser-error.ts'

const BOUNDS = { maxUrl: 8192, maxHeaderSize: 16_384 }

test.each([
  ['GET / HTTP/1.1\r\nX: ', 'headers_too_large', /less than 16384 bytes/],
  [`GET /${'a'.repeat(8192)} HTTP/1.1\r\nX: `, 'uri_too_long', /at most 8192 bytes/],
  [`GET http://a/${'a'.repeat(8192)} HTTP/1.1\r\nX: `, 'uri_too_long', /at most 8192 bytes/],
])('a head that is too large gets the bound that it broke: %.12s %s', (head, code, msg) => {
  const error = Object.assign(new Error(), { code: 'HPE_HEADER_OVERFLOW', rawPacket: Buffer.from(head) })
  expect(parserDenial(error, BOUNDS)).toMatchObject({ code, msg: expect.stringMatching(msg) })
})

test('a client that speaks HTTP/2 is told so, and the log has that reason', () => {
  const error = Object.assign(new Error(), { code: 'HPE_PAUSED_H2_UPGRADE', reason: 'Pause on PRI/Upgrade' })
  expect(parserDenial(error, BOUNDS)).toMatchObject({
    code: 'bad_request',
    msg: 'This request is HTTP/2, and HTTP/1.1 is spoken here.',
    reason: 'HTTP/2',
  })
})
