import fc from 'fast-check'
import { expect, it } from 'vitest'
import { responseBytes } from '../../fuzz/response-bytes.ts'
import { runs } from '../../setup/runs.ts'
import { assertNoSurprises } from '../support.ts'
import { latin1, newHeard, type Reading, readResponse } from './read-response.ts'

assertNoSurprises()

const read = (text: string, ends = false, bodiless = false): Reading =>
  readResponse(latin1(text), undefined, ends, bodiless)

it.each([
  ['an unknown coding', `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${'a.'.repeat(10_000)}\r\n\r\n`],
  ['no status line', `HTTP/1.1 ${'a.'.repeat(10_000)}\r\n\r\n`],
])('a reader of answers tells the log little of %s, however long it is', (_, text) => {
  const { error } = read(text)
  expect(error?.message.length).toBeLessThan(80)
})

it('a reader of answers tells status, fields and body, and that the connection goes on', () => {
  const { heard, reader } = read('HTTP/1.1 201 Created\r\nX-A:  b \r\nContent-Length: 5\r\n\r\nhello')
  expect(heard.response()).toEqual({
    status: 201,
    fields: ['X-A', 'b', 'Content-Length', '5'],
    body: 'hello',
    trailers: [],
  })
  expect(heard.isLast).toBe(true)
  expect(reader.persistent).toBe(true)
})

it('a reader of answers puts chunks together, drops their extensions and tells the trailers', () => {
  const { heard, reader } = read(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;a="b"\r\nfoo\r\n0a\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n',
  )
  expect(heard.response()).toMatchObject({ body: 'foo0123456789', trailers: ['X-T', '1'] })
  expect(reader.persistent).toBe(true)
})

it('a reader of answers tells all short chunks of one read as one piece, apart from long ones', () => {
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
  const long = 'x'.repeat(20_000)
  const { heard } = read(
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${[...'abcde', long, ...'fgh'].map(chunk).join('')}0\r\n\r\n`,
  )
  expect(heard.response()?.body).toBe(`abcde${long}fgh`)
  expect(heard.pieces).toBe(3)
})

it('a reader of answers takes the end of the connection for the end of a body without a length, and only of that', () => {
  const whole = read('HTTP/1.1 200 OK\r\n\r\nall there is', true)
  expect(whole.heard.response()).toMatchObject({ body: 'all there is' })
  expect(whole.reader.persistent).toBe(false)
  expect(read('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort', true).error?.message).toMatch(/within the answer/)
  expect(read('HTTP/1.1 200 OK\r\nContent', true).error?.message).toMatch(/within the answer/)
  expect(read('', true).error?.message).toMatch(/closed the connection/)
})

it.each([
  ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', true],
  ['HEAD, without a length', 'HTTP/1.1 200 OK\r\n\r\n', true],
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n', false],
  ['304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', false],
])('a reader of answers expects no body of an answer to %s, and keeps the connection', (_what, text, bodiless) => {
  const { heard, reader } = read(text, false, bodiless)
  expect(heard.response()?.body).toBe('')
  expect(reader.persistent).toBe(true)
})

it.each([
  ['bytes after the body', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n'],
  ['a 204 that announces a body, which may still come', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n'],
  ['a 204 in chunks', 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['bytes after a 204', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok'],
  ['Connection: close', 'HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok'],
  [
    'a close before a keep-alive',
    'HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: x\r\nContent-Length: 2\r\n\r\nok',
  ],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
])('a reader of answers does not use a connection again after %s', (_what, text) => {
  const { heard, reader } = read(text)
  expect(heard.trailers).toEqual([])
  expect(reader.persistent).toBe(false)
})

it('a reader of answers uses a connection again after a 204, also one that says it has no body', () => {
  for (const field of ['', 'Content-Length: 0\r\n']) {
    expect(read(`HTTP/1.1 204 No Content\r\n${field}\r\n`).reader.persistent).toBe(true)
  }
})

it('a reader of answers takes 2000 fields and no more', () => {
  const head = (fields: number): string => `HTTP/1.1 204 No Content\r\n${'a: b\r\n'.repeat(fields)}\r\n`
  expect(read(head(2000)).error).toBeNull()
  expect(read(head(2001)).error?.message).toBe('too many header fields')
})

it('a reader of answers tells interim answers apart from the one that is awaited', () => {
  const { heard } = read('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  expect(heard.interim).toEqual([103])
  expect(heard.response()).toMatchObject({ status: 200 })
})

it('a reader of answers knows how long the upstream keeps the connection, where it says so or has said so before', () => {
  const silent = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
  expect(read(silent).reader.keptFor).toBe(null)
  const { reader } = read('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=72, max=5\r\nContent-Length: 0\r\n\r\n')
  expect(reader.keptFor).toBe(72)
  reader.expect(newHeard(), false)
  reader.read(Buffer.from(silent))
  expect(reader.keptFor).toBe(72)
})

it.each(['2 ', '2\t', '2     ', '02 \t', '2 ;a'])('a reader of answers takes %j for the size of a chunk', (size) => {
  const text = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\nok\r\n0 \r\n\r\n`
  for (const sizes of [[text.length], [1]]) {
    const { heard, reader } = readResponse(latin1(text), sizes)
    expect(heard.response()).toMatchObject({ body: 'ok' })
    expect(reader.persistent).toBe(true)
  }
})

it('a reader of answers removes blanks before a colon, also of a field that frames the answer', () => {
  const text = 'HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length\t : 2\r\n\r\nok'
  expect(read(text).heard.response()).toMatchObject({ fields: ['X-A', '1', 'Content-Length', '2'], body: 'ok' })
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n2\r\nok\r\n0\r\nX-T : 1\r\n\r\n'
  expect(read(chunked).heard.response()).toMatchObject({ body: 'ok', trailers: ['X-T', '1'] })
})

it.each([
  ['a blank before a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n 2\r\nok\r\n'],
  ['digits behind a blank', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 2\r\nok\r\n'],
  ['a name of blanks', 'HTTP/1.1 200 OK\r\n : 1\r\n\r\n'],
  ['a length twice, once with a blank', 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\nContent-Length: 3\r\n\r\nok'],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['a size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n'],
  ['a size with a sign', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nok\r\n'],
  ['a size of 16 digits', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n'],
  ['an endless size line', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;${'a'.repeat(3_000)}`],
  ['a bare LF in an extension', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;\nx\r\nok\r\n'],
  ['a chunk without its end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokXY'],
  ['a length with a sign', 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok'],
  ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok'],
  ['an empty length', 'HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n'],
  ['two codings', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a line without a colon', 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n'],
  ['a name with a blank', 'HTTP/1.1 200 OK\r\nX A: 1\r\n\r\n'],
  ['no name', 'HTTP/1.1 200 OK\r\n: 1\r\n\r\n'],
  ['two digits of status', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
  ['a status of 600', 'HTTP/1.1 600 OK\r\n\r\n'],
  ['HTTP/2.0', 'HTTP/2.0 200 OK\r\n\r\n'],
  [
    'an endless trailer section',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(9_000)}`,
  ],
  ['a trailer without a colon', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Evil1\r\n\r\n'],
  ['bare LFs, at once and not when the time is up', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['a NUL in a trailer', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: \0\r\n\r\n'],
  ['an upgrade that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a trailer without a name', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n: b\r\n\r\n'],
])('a reader of answers refuses %s', (_what, text) => {
  expect(read(text).error).toBeInstanceOf(Error)
  expect(readResponse(latin1(text), [1]).error).toBeInstanceOf(Error)
})

it('whatever an upstream sends is read alike however it is cut into pieces', () => {
  fc.assert(
    fc.property(responseBytes, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (bytes, sizes) => {
      const whole = readResponse(bytes, [bytes.length], true)
      const cut = readResponse(bytes, sizes, true)
      expect(cut.heard.response()).toEqual(whole.heard.response())
      if (whole.heard.response() === null) expect(cut.error).not.toBe(null)
    }),
    { numRuns: runs(2_000) },
  )
})
