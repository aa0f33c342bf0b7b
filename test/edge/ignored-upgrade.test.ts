import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { silence, statusesIn } from '../e2e/raw.ts'
import { isCharged } from '../observe/settled.ts'
import { BOTH_WAYS, connectTo, makeCertificates, type Way } from '../setup/ways.ts'
import { startRawUpstream } from './raw-upstream.ts'

const certificates = makeCertificates()

/** As Apache HttpClient 5.4 sends it with every request in the clear, and the client of the JDK. */
const TLS = 'Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n'
const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n'
const auth = `Authorization: Bearer ${jwtOf('alice')}\r\n`

function request(line: string, fields = '', body = ''): string {
  return `${line} HTTP/1.1\r\nHost: a\r\n${auth}${fields}\r\n${body}`
}

async function start(way: Way) {
  const backend = await startRawUpstream(certificates.server, way)
  const rest = `unmatched: { category: read, cost: 1 }\n${certificates.listener(way)}`
  const app = await startApp(yaml(backend.url, rest, 'sqlite::memory:', certificates.upstream(way)))
  return { app, backend }
}

/** Sends pieces on one connection, each when the one before has been looked at, and gives what came of them. */
async function send(way: Way, pieces: readonly string[]) {
  const { app, backend } = await start(way)
  const socket = connectTo(app.url)
  await once(socket, way.clients ? 'secureConnect' : 'connect')
  let text = ''
  let isClosed = false
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  socket.on('end', () => {
    isClosed = true
  })
  for (const piece of pieces) {
    socket.write(piece)
    await sleep(60)
  }
  await silence(socket, 150, text === '' ? undefined : 300)
  socket.destroy()
  const charged = app.observations.filter(isCharged).length
  return { text, statuses: statusesIn(text), isClosed, charged, lines: backend.lines, app }
}

describe.each(BOTH_WAYS)('an upgrade that is not taken, $name', (way) => {
  it.each([
    ['TLS/1.2', TLS],
    ['h2c', H2C],
    ['h2c by Proxy-Connection, which the parser takes for Connection', 'Proxy-Connection: Upgrade\r\nUpgrade: h2c\r\n'],
  ])('%s: costs no connection', async (_what, fields) => {
    const requests = Array.from({ length: 5 }, (_, i) => request(`GET /${i}`, fields))
    const { text, statuses, isClosed, lines, charged } = await send(way, requests)
    expect(statuses).toEqual([200, 200, 200, 200, 200])
    expect(text).not.toMatch(/^connection: close/im)
    expect([isClosed, charged, lines.length]).toEqual([false, 5, 5])
  })

  it('an upgrade that is not taken loses nothing of what one packet brings behind it, nor of a request of which it brings the beginning', async () => {
    const post = request('POST /b', `${H2C}Content-Length: 5\r\n`, 'hello')
    const chunked = request('PUT /c', `${TLS}Transfer-Encoding: chunked\r\n`, '5\r\nhello\r\n0\r\n\r\n')
    const last = request('GET /e', 'Content-Length: 4\r\n', 'body')
    const all = request('GET /a', TLS) + post + chunked + request('GET /d', H2C) + last
    for (const cut of [all.length, all.length - 1, all.length - 6, all.length - last.length + 3, 40]) {
      const { statuses, isClosed, lines } = await send(way, [all.slice(0, cut), all.slice(cut)])
      expect(statuses).toEqual([200, 200, 200, 200, 200])
      expect(lines.map((line) => line.split(' ')[1])).toEqual(['/a', '/b', '/c', '/d', '/e'])
      expect(isClosed).toBe(false)
    }
  })

  it('an upgrade that is not taken hides no request: what stands in a body is none, and what stands behind it is one', async () => {
    const hidden = request('GET /hidden')
    const whole = request('POST /a', `${H2C}Content-Length: ${hidden.length}\r\n`, hidden)
    const cut = whole.length - hidden.length
    for (const pieces of [[whole], [whole.slice(0, cut), hidden], [whole.slice(0, cut + 1), hidden.slice(1)]]) {
      const { statuses, lines, charged } = await send(way, [...pieces, request('GET /b')])
      expect(statuses).toEqual([200, 200])
      expect(lines.map((line) => line.split(' ')[1])).toEqual(['/a', '/b'])
      expect(charged).toBe(2)
    }
  })

  it.each([
    ['a malformed body', [request('POST /a', `${H2C}Transfer-Encoding: chunked\r\n`, '5\r\nhello\r\nZZ\r\n')], [400]],
    [
      'a body that is malformed later',
      [request('POST /a', `${H2C}Transfer-Encoding: chunked\r\n`, '5\r\nhello\r\n'), 'ZZ\r\n'],
      [400],
    ],
    ['a malformed head behind it', [`${request('GET /a', TLS)}GET /b HTTP/1.1\r\nHo st: a\r\n\r\n`], [200, 400]],
    ['a malformed head that comes later', [request('GET /a', TLS), 'GET /b HTTP/1.1\r\nHo st: a\r\n\r\n'], [200, 400]],
    ['what is no HTTP', [request('GET /a', TLS), 'BOGUS\r\n\r\n'], [200, 400]],
    ['a CONNECT', [request('GET /a', TLS), 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'], [200, 405]],
    ['a CONNECT in the same packet', [`${request('GET /a', TLS)}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`], [200, 405]],
  ] as const)(
    'an upgrade that is not taken is followed by the refusal of %s, and the end',
    async (_what, pieces, statuses) => {
      const sent = await send(way, [...pieces, request('GET /smuggled')])
      expect(sent.statuses).toEqual(statuses)
      expect(sent.lines.join()).not.toContain('smuggled')
      expect(sent.isClosed).toBe(true)
    },
  )

  it('an upgrade that is not taken ends the connection where the client asks for that, whatever comes behind', async () => {
    const last = request('GET /a', 'Connection: close, Upgrade\r\nUpgrade: h2c\r\n')
    const { statuses, lines, isClosed } = await send(way, [last + request('GET /b', TLS) + request('GET /c', TLS)])
    expect([statuses, lines.length, isClosed]).toEqual([[200], 1, true])
  })
})
