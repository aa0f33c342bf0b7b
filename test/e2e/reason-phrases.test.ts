import type net from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, makeCertificates, upstreamUrl } from '../setup/ways.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { rawExchange } from './raw.ts'

/** The status line of a response, as the upstream writes it and as the client gets it. */

const LINES: Readonly<Record<string, string>> = {
  '/usual': 'HTTP/1.1 200 OK',
  '/odd': 'HTTP/1.1 234 Odd Reason',
  '/own': 'HTTP/1.1 200 Fine, thank you',
  '/error': 'HTTP/1.1 500 Database is locked: try again at 14:00',
  '/latin1': 'HTTP/1.1 404 Ungültig',
  '/blanks': 'HTTP/1.1 200  two  blanks\tand a tab ',
  '/empty': 'HTTP/1.1 299 ',
}
const BODIES: Readonly<Record<string, string>> = {
  whole: 'Content-Length: 2\r\n\r\nok',
  chunked: 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  long: `Content-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`,
  empty: 'Content-Length: 0\r\n\r\n',
}
const EARLY = 'HTTP/1.1 103 See what comes\r\nLink: </a>\r\n\r\n'

/** `/odd?whole`: that status line with that body. */
function respond(socket: net.Socket): void {
  socket
    .on('error', () => {})
    .on('data', (chunk) => {
      const [, path = '', body = ''] = /^[A-Z]+ (\/\w*)\?(\w+)/.exec(chunk.toString('latin1')) ?? []
      const [head, content] = (BODIES[body.replace('early', '')] ?? BODIES.whole ?? '').split(/(?<=\r\n\r\n)/)
      const isHead = chunk.toString('latin1').startsWith('HEAD ')
      const early = body.startsWith('early') ? EARLY : ''
      socket.write(`${early}${LINES[path] ?? 'HTTP/1.1 204'}\r\n${head}${isHead ? '' : content}`, 'latin1')
    })
}

const certificates = makeCertificates()

describe.each(BOTH_WAYS)('a reason phrase, by $name', (way) => {
  let upstream: net.Server
  let app: RunningApp
  beforeAll(async () => {
    upstream = certificates.server(way, respond)
    await listening(upstream)
    const rest = `unmatched: forward\n${certificates.listener(way)}`
    app = await startApp(yaml(upstreamUrl(way, upstream), rest, 'sqlite::memory:', certificates.upstream(way)))
  })

  /** Of so many requests on one connection, which the last one ends. */
  async function lines(target: string, { method = 'GET', version = '1.1', fields = '', times = 1 } = {}) {
    const request = (more: string) => `${method} ${target} HTTP/${version}\r\nHost: a\r\n${fields}${more}\r\n`
    const last = fields.includes('Connection') ? '' : 'Connection: close\r\n'
    const text = await rawExchange(app.url, request('').repeat(times - 1) + request(last))
    return text.match(/HTTP\/1\.1 \d{3} [^\r]*/g) ?? []
  }

  it.each(Object.entries(LINES))(
    'a reason phrase reaches the client of %s as it came, whatever its body is',
    async (path, line) => {
      for (const body of Object.keys(BODIES)) {
        expect([body, await lines(`${path}?${body}`)]).toEqual([body, [line]])
        expect([body, await lines(`${path}?${body}`, { times: 2 })]).toEqual([body, [line, line]])
        expect([body, await lines(`${path}?${body}`, { version: '1.0' })]).toEqual([body, [line]])
        if (body !== 'chunked')
          expect([body, await lines(`${path}?${body}`, { method: 'HEAD' })]).toEqual([body, [line]])
      }
    },
  )

  it('a reason phrase reaches the client with an interim response too', async () => {
    expect(await lines('/odd?earlywhole')).toEqual(['HTTP/1.1 103 See what comes', 'HTTP/1.1 234 Odd Reason'])
  })

  it('a reason phrase reaches a client whose WebSocket is refused', async () => {
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
    const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\n${key}`
    for (const [path, line] of Object.entries(LINES))
      expect(await lines(`${path}?earlywhole`, { fields })).toEqual(['HTTP/1.1 103 See what comes', line])
  })

  it('a reason phrase is empty where the upstream wrote none', async () => {
    expect(await lines('/none?empty')).toEqual(['HTTP/1.1 204 '])
  })
})
