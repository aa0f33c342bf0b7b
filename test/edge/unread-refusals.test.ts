import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { BOTH_WAYS, connectTo, makeCertificates, type Way } from '../setup/ways.ts'

const certificates = makeCertificates()
let app: RunningApp

const start = async (way: Way, edge = '') => {
  const rest = `routes: [{ match: POST /, category: read, cost: 1 }]\nunmatched: forward\nedge: { ${edge} }\n${certificates.listener(way)}`
  app = await startApp(yaml('http://127.0.0.1:9', rest))
}
const refusals = () => app.observations.flatMap((o) => (o.type === 'bad_connection' ? (o.refused?.reason ?? '') : []))

describe.each(BOTH_WAYS)('what is refused before it is a request, $name', (way) => {
  it.each([
    ['a length of +1', 'Content-Length: +1\r\n', 400],
    ['a field name with a blank', 'X y: 1\r\n', 400],
    ['a head that is too large', `X: ${'a'.repeat(10_000)}\r\n`, 431],
  ])(
    'what is refused before it is a request gets the date, and no content if it is a HEAD: %s',
    async (_what, fields, status) => {
      await start(way, 'max_header_size: 8KiB')
      for (const method of ['GET', 'HEAD']) {
        const text = await rawExchange(app.url, `${method} / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`)
        expect(statusesIn(text)).toEqual([status])
        expect(text).toMatch(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r$/m)
        expect(text.endsWith('\r\n\r\n')).toBe(method === 'HEAD')
      }
    },
  )

  it('what is refused before it is a request gets its 400 if it is a HEAD with a malformed body', async () => {
    await start(way)
    const text = await rawExchange(app.url, 'HEAD / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n')
    expect(statusesIn(text)).toEqual([400])
    expect(text.endsWith('\r\n\r\n')).toBe(true)
  })

  it.each([
    ['1', 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['2', '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01\0\x50\0\x50GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])(
    'what is refused before it is a request is named in response and log if it is PROXY protocol, version %s',
    async (_version, bytes) => {
      await start(way)
      expect(await rawExchange(app.url, Buffer.from(bytes, 'latin1'))).toContain('PROXY protocol')
      expect(refusals()).toEqual(['it begins with PROXY protocol (edge.proxy_protocol)'])
    },
  )

  it('a refusal of a request whose chunked body is empty leaves the connection open for the next one', async () => {
    await start(way)
    const asked = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
    const last = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
    expect(statusesIn(await rawExchange(app.url, asked + asked + last))).toEqual([401, 401, 401])
  })

  it('what is refused before it is a request is not what a client leaves behind that has its response and ends within the body', async () => {
    await start(way)
    const client = connectTo(app.url)
    client.write('POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nContent-Length: 100\r\n\r\nabc')
    client.once('data', () => client.end())
    await new Promise((resolve) => client.once('close', resolve))
    await expect.poll(() => app.requests().length).toBe(1)
    expect(refusals()).toEqual([])
  })

  it('what is refused before it is a request gets nothing if it has sent nothing: the connection is closed in silence', async () => {
    await start(way, 'headers_timeout: 1s')
    const client = connectTo(app.url)
    let received = 0
    client.on('data', (data) => {
      received += data.length
    })
    await new Promise((resolve) => client.once('close', resolve))
    expect(received).toBe(0)
  })
})

it('plain HTTP on a port of TLS is named in response and log, however long its head is', async () => {
  await start({ name: '', clients: true, upstream: false })
  const clear = app.url.replace('https:', 'http:')
  for (const request of [
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    `POST / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(9000)}\r\n\r\n`,
  ]) {
    const text = await rawExchange(clear, request)
    expect(statusesIn(text)).toEqual([400])
    expect(text).toContain('"error":"bad_request","msg":"This port speaks TLS only: write https://')
  }
  expect(refusals()).toEqual(Array(2).fill('plain HTTP on a port of TLS'))
})

describe.each(BOTH_WAYS)('a method that the parser does not know, $name', (way) => {
  const asked = (method: string, rest = ''): string => `${method} /x HTTP/1.1\r\nHost: a\r\n${rest}\r\n`

  it.each(['VERSION-CONTROL', 'LABEL', 'ORDERPATCH', 'RPC_IN_DATA', 'BITS_POST', 'GETS', 'get', "a!#$%&'*+.^`|~"])(
    'a method that the parser does not know is 501 with its name: %s',
    async (method) => {
      await start(way)
      const text = await rawExchange(app.url, asked(method))
      expect(statusesIn(text)).toEqual([501])
      expect(text).toContain(
        JSON.stringify({ error: 'not_implemented', msg: `The method ${method} is not implemented.` }),
      )
      expect(refusals()).toEqual(['a method that the parser does not know'])
    },
  )

  it('a method that the parser does not know is the last of its connection: what its body says is no request', async () => {
    await start(way)
    const body = asked('LABEL', `Content-Length: 40\r\n`) + asked('GET')
    expect(statusesIn(await rawExchange(app.url, asked('OPTIONS').replace('/x', '*') + body))).toEqual([204, 501])
  })

  it.each([
    ['no target', 'LABEL HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['another protocol', 'LABEL /x FTP/1.1\r\nHost: a\r\n\r\n'],
    ['no token', 'LA{BEL /x HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['two blanks', 'LABEL  /x HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['more than 40 letters', asked('L'.repeat(41))],
  ])('a method that the parser does not know is 400 in a line that is no request line: %s', async (_what, text) => {
    await start(way)
    expect(statusesIn(await rawExchange(app.url, text))).toEqual([400])
  })
})
