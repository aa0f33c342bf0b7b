import { once } from 'node:events'
import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { isCharged } from '../observe/settled.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl, type Way } from '../setup/ways.ts'
import { startRawUpstream } from './raw-upstream.ts'

/**
 * The known ways to make two servers disagree about where a request ends, by their names; none may ever work again. The
 * oracle: requests that the upstream saw == charges == requests that the gateway accepted, and `/api/smuggled`, which no
 * request asks for, never arrives.
 */

const certificates = makeCertificates()

const auth = `Authorization: Bearer ${jwtOf('alice')}\r\n`
const SMUGGLED = `GET /api/smuggled HTTP/1.1\r\nHost: a\r\n${auth}\r\n`
const HIDDEN = `POST /api/hidden HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: 500\r\n\r\n`

function request(line: string, fields: string, body = ''): string {
  return `${line} HTTP/1.1\r\nHost: a\r\n${auth}${fields}\r\n${body}`
}

async function startIn(way: Way, edge = '', url?: string, upstream = '') {
  const backend = await startRawUpstream(certificates.server, way)
  const rest = `edge: { ${edge} }\nroutes: [{ match: "* /api/*", category: read, cost: 1 }]\n${certificates.listener(way)}`
  const more = [upstream, certificates.upstream(way)].filter(Boolean).join(', ')
  const app = await startApp(yaml(url ?? backend.url, rest, 'sqlite::memory:', more))
  return { app, lines: backend.lines, received: backend.received }
}

const charges = (app: RunningApp): number => app.observations.filter(isCharged).length
const inHex = (text: string): string => text.length.toString(16)
const chunk = (body: string): string => `${inHex(body)}\r\n${body}\r\n0\r\n\r\n`
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

/** [name, bytes, statuses, what the upstream may see] */
const FORMS: readonly (readonly [string, string, readonly number[], readonly string[]])[] = [
  [
    'CL.TE',
    request('POST /api/a', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
    [400],
    [],
  ],
  ['TE.CL', request('POST /api/a', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', chunk(SMUGGLED)), [400], []],
  [
    'TE.TE, the second obfuscated',
    request('POST /api/a', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n', `0\r\n\r\n${SMUGGLED}`),
    [400],
    [],
  ],
  [
    'TE.TE, by a tab',
    request('POST /api/a', 'Transfer-Encoding:\tchunked\r\n', chunk(SMUGGLED)),
    [200],
    ['POST /api/a HTTP/1.1'],
  ],
  ['CL.0', request('POST /api/a', `Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED), [200], ['POST /api/a HTTP/1.1']],
  [
    '0.CL',
    request('GET /api/a', `Content-Length: ${HIDDEN.length}\r\n`, HIDDEN) + request('GET /api/b', ''),
    [200, 200],
    ['GET /api/a HTTP/1.1', 'GET /api/b HTTP/1.1'],
  ],
  ['0.CL, the length folded', request('GET /api/a', `Content-Length:\r\n ${HIDDEN.length}\r\n`, HIDDEN), [400], []],
  [
    'TE.0',
    request('OPTIONS /api/a', 'Transfer-Encoding: chunked\r\n', chunk(SMUGGLED)),
    [200],
    ['OPTIONS /api/a HTTP/1.1'],
  ],
  [
    'DELETE in chunks (CVE-2026-29057)',
    request('DELETE /api/a', 'Transfer-Encoding: chunked\r\n', chunk(SMUGGLED)),
    [200],
    ['DELETE /api/a HTTP/1.1'],
  ],
  [
    'Expect, obfuscated',
    request('GET /api/a', 'Expect: y 100-continue\r\nContent-Length: 6\r\n', `GET /n${SMUGGLED}`),
    [417],
    [],
  ],
  [
    'Expect on a request without a body',
    request('GET /api/a', 'Expect: 100-continue\r\n') + request('GET /api/b', ''),
    [100, 200, 200],
    ['GET /api/a HTTP/1.1', 'GET /api/b HTTP/1.1'],
  ],
  [
    'a chunk extension that ends with LF (CVE-2025-55315)',
    request('POST /api/a', 'Transfer-Encoding: chunked\r\n', `2;\nxx\r\n${inHex(SMUGGLED)}\r\n0\r\n\r\n${SMUGGLED}`),
    [400],
    [],
  ],
  [
    'a chunk without its line break (CVE-2025-43859)',
    request('POST /api/a', 'Transfer-Encoding: chunked\r\n', `5\r\nAAAAAXX2\r\n45\r\n0\r\n\r\n${SMUGGLED}`),
    [400],
    [],
  ],
  [
    'HTTP/1.0 with a list of codings (CVE-2026-2835)',
    request(
      'POST /api/a',
      'Connection: keep-alive\r\nTransfer-Encoding: identity, chunked\r\n',
      `0\r\n\r\n${SMUGGLED}`,
    ).replace('HTTP/1.1', 'HTTP/1.0'),
    [400],
    [],
  ],
  [
    'a request line in the trailers',
    request('POST /api/a', 'Transfer-Encoding: chunked\r\n', `0\r\nGET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\n`),
    [400],
    [],
  ],
  [
    'a header that Connection takes away',
    request('POST /api/a', `Connection: Content-Length\r\nContent-Length: ${SMUGGLED.length}\r\n`, SMUGGLED),
    [400],
    [],
  ],
  [
    'a body of PUT in chunks, with an extension and a trailer',
    request(
      'PUT /api/a',
      'Transfer-Encoding: chunked\r\n',
      `${inHex(SMUGGLED)};ext=1\r\n${SMUGGLED}\r\n0\r\nX-T: 1\r\n\r\n`,
    ),
    [200],
    ['PUT /api/a HTTP/1.1'],
  ],
  [
    'two requests in one write',
    request('POST /api/a', 'Content-Length: 0\r\n') + request('GET /api/b', ''),
    [200, 200],
    ['POST /api/a HTTP/1.1', 'GET /api/b HTTP/1.1'],
  ],
  [
    'a second one without the credential of the first',
    request('GET /api/a', '') + request('GET /api/b', '').replace(auth, ''),
    [200, 401],
    ['GET /api/a HTTP/1.1'],
  ],
  [
    'one behind a refused upload',
    request('POST /nothing', `Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED) + request('GET /api/b', ''),
    [404, 200],
    ['GET /api/b HTTP/1.1'],
  ],
  [
    'garbage behind a refusal that ends the connection',
    `${request('POST /api/a', 'Expect: 100-continue\r\nContent-Length: 2\r\n', 'ab').replace(auth, '')}\0garbage\r\n\r\n`,
    [401],
    [],
  ],
  ['garbage behind a request', `${request('GET /api/a', '')}GARBAGE\r\n\r\n`, [200, 400], ['GET /api/a HTTP/1.1']],
  [
    'a WebSocket that is refused behind a request',
    request('GET /api/a', '') + request('GET /api/ws', UPGRADE).replace(auth, ''),
    [200, 401],
    ['GET /api/a HTTP/1.1'],
  ],
  [
    'a WebSocket behind the last request',
    request('GET /api/a', 'Connection: close\r\n') + request('GET /api/ws', UPGRADE),
    [200],
    ['GET /api/a HTTP/1.1'],
  ],
  ['a WebSocket behind two Hosts', request('GET /api/a', 'Host: b\r\n') + request('GET /api/ws', UPGRADE), [400], []],
  ['a CONNECT behind two Hosts', request('GET /api/a', 'Host: b\r\n') + request('CONNECT a:1', ''), [400], []],
]

describe.each(BOTH_WAYS)('a request in which another may be hidden, by $name', (way) => {
  it.each(FORMS)('%s', async (_name, bytes, statuses, seen) => {
    const { app, lines } = await startIn(way, 'max_body: 1MiB')
    expect(statusesIn(await rawExchange(app.url, bytes))).toEqual(statuses)
    expect([...lines].sort()).toEqual([...seen].sort())
    expect(charges(app)).toBe(lines.length)
  })
})

describe.each(BOTH_WAYS)('a connection on which something was left over, by $name', (way) => {
  const start = (edge = '', url?: string, upstream = '') => startIn(way, edge, url, upstream)

  /** An upstream of this way. @returns its URL */
  async function listen(onConnection: (socket: net.Socket) => void): Promise<string> {
    const sockets = new Set<net.Socket>()
    const server = certificates.server(way, (socket) => {
      sockets.add(socket.on('error', () => {}))
      onConnection(socket)
    })
    await listening(server)
    return upstreamUrl(way, server)
  }

  it('a body that nobody read (CVE-2025-4366): behind a refusal it is no request', async () => {
    const { app, lines } = await start()
    const body = SMUGGLED.repeat(1000)
    const refused = `POST /nothing HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: ${body.length}\r\n\r\n${body}`
    expect(statusesIn(await rawExchange(app.url, refused + SMUGGLED))).toEqual([404])
    expect([lines, charges(app)]).toEqual([[], 0])
  })

  it('a body of which the rest comes after the refusal, which closes the connection: behind it is no request', async () => {
    const { app, lines } = await start()
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
    })
    const closed = once(socket, 'close')
    socket.write(`POST /nothing HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: 100000\r\n\r\n${'x'.repeat(99_999)}`)
    await expect.poll(() => text).toContain('HTTP/1.1 404')
    socket.write(`x${SMUGGLED}`)
    await closed
    expect(statusesIn(text)).toEqual([404])
    expect([lines, charges(app)]).toEqual([[], 0])
  })

  it.each([
    ['Connection: close', request('GET /api/a', 'Connection: close\r\n')],
    ['HTTP/1.0', request('GET /api/a', '').replace('HTTP/1.1', 'HTTP/1.0')],
  ])('a request behind %s is none: nobody would get its answer', async (_what, first) => {
    const { app, lines } = await start()
    expect(statusesIn(await rawExchange(app.url, first + SMUGGLED))).toEqual([200])
    expect(lines).toHaveLength(1)
    expect(charges(app)).toBe(1)
  })

  it('pause-based: what comes after a body that paused for too long is no request', async () => {
    const { app, lines } = await start('upload_grace: 200ms')
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    let text = ''
    let closed = false
    socket.on('close', () => {
      closed = true
    })
    socket.on('data', (data) => {
      text += data.toString('latin1')
    })
    socket.write(request('POST /api/a', 'Content-Length: 100000\r\n'))
    await expect.poll(() => text).toContain('HTTP/1.1 408')
    socket.write(SMUGGLED)
    await expect.poll(() => closed).toBe(true)
    expect(statusesIn(text)).toEqual([408])
    expect(lines).toEqual([])
    // The upstream had the head of the first one.
    expect(charges(app)).toBe(1)
  })

  it('0.CL with an early answer: the rest of the body is no request, to us or to the upstream', async () => {
    const heads: string[] = []
    let connections = 0
    const url = await listen((socket) => {
      connections++
      // A server that answers before it has read, and takes whatever comes for requests.
      socket.on('data', (data) => {
        for (const [line] of data.toString('latin1').matchAll(/^[A-Z]+ \/api\/\w+ HTTP/gm)) {
          heads.push(line)
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        }
      })
    })
    const { app } = await start('', url)
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
    })
    socket.write(request('POST /api/early', 'Content-Length: 100000\r\n'))
    await expect.poll(() => text).toContain('HTTP/1.1 200')
    socket.write(request('GET /api/smuggled', '').repeat(10))
    await sleep(200)
    // Another client's request finds another connection, and its own answer.
    expect(statusesIn(await rawExchange(app.url, request('GET /api/other', '')))).toEqual([200])
    expect(heads).toEqual(['POST /api/early HTTP', 'GET /api/other HTTP'])
    expect([connections, charges(app)]).toEqual([2, 2])
  })

  /** A server that ignores the length of a body, and names each request in its answer. */
  async function deafUpstream(response: (socket: net.Socket, paths: readonly string[]) => void): Promise<string> {
    return listen((socket) => {
      let text = ''
      socket.on('data', (data) => {
        text += data.toString('latin1')
        const heads = text.split('\r\n\r\n')
        text = heads.pop() ?? ''
        response(
          socket,
          heads.map((head) => /^[A-Z]+ (\/api\/\w+) HTTP/.exec(head)?.[1] ?? ''),
        )
      })
    })
  }

  const naming = (path: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`
  const bodyOf = (text: string): string | undefined => text.split('\r\n\r\n')[1]

  it('CL.0 at the upstream: an answer behind the one that was asked for goes to nobody', async () => {
    const url = await deafUpstream((socket, paths) => socket.write(paths.map(naming).join('')))
    const { app } = await start('', url)
    for (let i = 0; i < 10; i++) {
      const poisoned = request('POST /api/a', `Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED)
      const responses = await Promise.all([
        rawExchange(app.url, poisoned, 50),
        rawExchange(app.url, request('GET /api/other', ''), 50),
      ])
      responses.push(await rawExchange(app.url, request('GET /api/other', ''), 50))
      expect(responses.map(bodyOf)).toEqual(['/api/a', '/api/other', '/api/other'])
    }
  })

  it.each([
    ['a request, answered late', SMUGGLED],
    ['the beginning of one, which waits for the next head', 'GET /api/smuggled HTTP/1.1\r\nX-Rest: '],
  ])('CL.0 at the upstream, and reuse_after_body: false: %s, reaches nobody', async (_what, hidden) => {
    let answered = Promise.resolve()
    const url = await deafUpstream((socket, paths) => {
      for (const path of paths) {
        answered = answered.then(() => void socket.write(naming(path))).then(() => sleep(200))
      }
    })
    const { app } = await start('', url, 'reuse_after_body: false')
    const poisoned = request('POST /api/a', `Content-Length: ${hidden.length}\r\n`, hidden)
    expect(bodyOf(await rawExchange(app.url, poisoned, 50))).toBe('/api/a')
    expect(bodyOf(await rawExchange(app.url, request('GET /api/other', ''), 50))).toBe('/api/other')
  })

  it('a client of HTTP/1.0 is sent no 100, which it would take for its answer', async () => {
    const { app, lines } = await start()
    const fields = `Host: a\r\n${auth}Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab`
    expect(statusesIn(await rawExchange(app.url, `POST /api/a HTTP/1.0\r\n${fields}`))).toEqual([200])
    expect([lines.length, charges(app)]).toEqual([1, 1])
  })

  it('a client that waits for 100 gets one, also where its body is read before the charge', async () => {
    for (const edge of ['', 'max_body: 64KiB']) {
      const { app } = await start(edge)
      const fields = 'Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n'
      const text = await rawExchange(app.url, request('POST /api/a', fields, '2\r\nab\r\n0\r\n\r\n'))
      expect(statusesIn(text)).toEqual([100, 200])
    }
  })

  it('pipelined upgrade: one that comes before the last request is answered opens no tunnel, into which that answer would go', async () => {
    const { app, lines } = await start()
    const responses = await rawExchange(app.url, request('GET /api/first', '') + request('GET /api/ws', UPGRADE), 500)
    expect(statusesIn(responses)).toEqual([200, 200])
    expect(lines).toEqual(['GET /api/first HTTP/1.1', 'GET /api/ws HTTP/1.1'])
  })

  it('upgrade behind the last answer: one that comes with the rest of a refused upload is not looked at', async () => {
    const { app, lines } = await start('max_body: 64KiB')
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    socket.write(request('POST /api/a', 'Content-Length: 100000\r\n', 'x'.repeat(50_000)))
    const [response] = await once(socket, 'data')
    socket.write('x'.repeat(50_000) + request('GET /api/ws', UPGRADE))
    await once(socket, 'close')
    expect(statusesIn(String(response))).toEqual([413])
    expect(app.requests().map(({ clientStatus }) => clientStatus)).toEqual([413])
    expect([lines, charges(app)]).toEqual([[], 0])
  })

  it('upgrade by Proxy-Connection: the body of the request behind it is no request', async () => {
    const { app, lines } = await start()
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    const hiding = request('POST /api/b', `Content-Length: ${SMUGGLED.length + 1}\r\n`, 'x')
    socket.write(request('GET /api/a', 'Proxy-Connection: Upgrade\r\nUpgrade: x\r\n') + hiding)
    const pieces: Buffer[] = []
    socket.on('data', (piece: Buffer) => pieces.push(piece))
    await expect.poll(() => pieces.length).toBeGreaterThan(0)
    socket.write(SMUGGLED)
    const statuses = () => statusesIn(Buffer.concat(pieces).toString('latin1'))
    await expect.poll(statuses).toEqual([200, 200])
    await sleep(100)
    expect(statuses()).toEqual([200, 200])
    expect(lines).toEqual(['GET /api/a HTTP/1.1', 'POST /api/b HTTP/1.1'])
    expect(charges(app)).toBe(2)
  })

  it('upgrade served as a plain request: the body of the request behind it is none while that is under way, either', async () => {
    const heads: string[] = []
    const held: net.Socket[] = []
    const url = await listen((socket) => {
      socket.on('data', (data) => {
        heads.push(data.toString('latin1').split('\r\n')[0] ?? '')
        held.push(socket)
      })
    })
    const { app } = await start('', url)
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    const pieces: Buffer[] = []
    socket.on('data', (piece: Buffer) => pieces.push(piece))
    const statuses = () => statusesIn(Buffer.concat(pieces).toString('latin1'))
    const hiding = request('POST /api/b', `Content-Length: ${SMUGGLED.length + 1}\r\n`, 'x')
    socket.write(request('GET /api/a', 'Connection: Upgrade\r\nUpgrade: h2c\r\n') + hiding)
    await expect.poll(() => heads).toHaveLength(1)
    socket.write(SMUGGLED)
    await sleep(200)
    for (const count of [1, 2]) {
      await expect.poll(() => held).toHaveLength(count)
      held[count - 1]?.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }
    await expect.poll(statuses).toEqual([200, 200])
    await sleep(100)
    expect(statuses()).toEqual([200, 200])
    expect(heads).toEqual(['GET /api/a HTTP/1.1', 'POST /api/b HTTP/1.1'])
    expect(charges(app)).toBe(2)
  })

  it('premature upgrade (CVE-2026-2833): what is sent before the upstream agrees is sent to nobody', async () => {
    const { app, lines, received } = await start()
    // The upstream refuses: it takes the handshake for a plain request, as it names no key to answer.
    const url = await listen((socket) => {
      socket.on('data', (data) => {
        received.push(data.toString('latin1'))
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    const other = await start('', url)
    expect(statusesIn(await rawExchange(other.app.url, request('GET /api/ws', UPGRADE) + SMUGGLED))).toEqual([200])
    expect(received.join('')).toMatch(/^GET \/api\/ws /)
    expect(received.join('')).not.toContain('smuggled')
    expect([lines, charges(app), charges(other.app)]).toEqual([[], 0, 1])
  })
})
