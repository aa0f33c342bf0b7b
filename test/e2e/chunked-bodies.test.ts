import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { describe, expect, it } from 'vitest'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, makeCertificates, upstreamUrl, type Way } from '../setup/ways.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { statusesIn } from './raw.ts'

/** One framing for one request, whatever the packets: servers of WSGI and FastCGI know no body without a length. */

const certificates = makeCertificates()

const HEAD = `POST /a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${jwtOf('alice')}\r\nTransfer-Encoding: chunked\r\n`
const chunk = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n`

interface Seen {
  readonly head: string
  body: string
}

function isWhole({ head, body }: Seen): boolean {
  const length = /^content-length: (\d+)$/im.exec(head)?.[1]
  if (length !== undefined) return body.length >= Number(length)
  return !/^transfer-encoding:/im.test(head) || body.endsWith('0\r\n\r\n')
}

/** An upstream that notes what it gets as it comes, and responds when a request is whole; and a gateway before it. */
async function start(way: Way, more = '', rest = '') {
  const seen: Seen[] = []
  const server = certificates.server(way, (socket) => {
    let text = ''
    let request: Seen | null = null
    socket
      .on('error', () => {})
      .on('data', (bytes) => {
        text += bytes.toString('latin1')
        const end = text.indexOf('\r\n\r\n')
        if (end === -1) return
        if (request === null) {
          request = { head: text.slice(0, end), body: '' }
          seen.push(request)
        }
        request.body = text.slice(end + 4)
        if (!isWhole(request)) return
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        text = ''
        request = null
      })
  })
  await listening(server)
  const rules = `${certificates.listener(way)}\nroutes: [{ match: "* /*", category: read, cost: 1 }]\n${rest}`
  const upstream = [more, certificates.upstream(way)].filter((text) => text !== '').join(', ')
  const app = await startApp(yaml(upstreamUrl(way, server), rules, 'sqlite::memory:', upstream))
  return { app, seen }
}

/** Sends pieces, each in a packet of its own. @returns the connection, with what came on it */
async function send(app: RunningApp, pieces: readonly string[]) {
  const { protocol, port } = new URL(app.url)
  const place = { host: '127.0.0.1', port: Number(port) }
  const socket = protocol === 'https:' ? tls.connect({ ...place, rejectUnauthorized: false }) : net.connect(place)
  atEnd(() => socket.destroy())
  await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect')
  socket.setNoDelay(true)
  let text = ''
  socket
    .on('error', () => {})
    .on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
    })
  for (const piece of pieces) {
    socket.write(piece)
    await sleep(20)
  }
  return { socket, statuses: () => statusesIn(text) }
}

const framingOf = ({ head }: Seen): string =>
  (/^(content-length: \d+|transfer-encoding: .*)$/im.exec(head)?.[1] ?? 'none').toLowerCase()

describe.each(BOTH_WAYS)('a body in chunks, by $name', (way) => {
  it.each([
    ['at once', [`${HEAD}\r\n${chunk('hello')}0\r\n\r\n`]],
    ['behind its head', [`${HEAD}\r\n`, `${chunk('hello')}0\r\n\r\n`]],
    ['without its last chunk', [`${HEAD}\r\n${chunk('hello')}`, '0\r\n\r\n']],
    ['in single bytes', [`${HEAD}\r\n`, ...`${chunk('hello')}0\r\n\r\n`]],
  ])('a body in chunks that is short has its length, if it comes %s', async (_what, pieces) => {
    const { app, seen } = await start(way)
    const { statuses } = await send(app, pieces)
    await expect.poll(statuses).toEqual([200])
    expect(seen.map((each) => [framingOf(each), each.body])).toEqual([['content-length: 5', 'hello']])
  })

  it('a body in chunks has its length up to the bound, and stays in chunks beyond it, whatever the packets', async () => {
    for (const [length, framing] of [
      [0, 'content-length: 0'],
      [65_536, 'content-length: 65536'],
      [65_537, 'transfer-encoding: chunked'],
    ] as const) {
      const body = `${length > 30_000 ? chunk('a'.repeat(30_000)) + chunk('b'.repeat(length - 30_000)) : ''}0\r\n\r\n`
      for (const pieces of [
        [`${HEAD}\r\n${body}`],
        [`${HEAD}\r\n`, ...[body.slice(0, -5), body.slice(-5)].filter((piece) => piece !== '')],
      ]) {
        const { app, seen } = await start(way)
        const { statuses } = await send(app, pieces)
        await expect.poll(statuses).toEqual([200])
        expect(seen.map(framingOf)).toEqual([framing])
      }
    }
  })

  it('a body in chunks stays in chunks, and goes on as it comes, with a bound of 0', async () => {
    for (const pieces of [[`${HEAD}\r\n${chunk('hello')}0\r\n\r\n`], [`${HEAD}\r\n`, `${chunk('hello')}0\r\n\r\n`]]) {
      const { app, seen } = await start(way, 'unchunk: 0')
      const { statuses } = await send(app, pieces)
      await expect.poll(statuses).toEqual([200])
      expect(seen.map(framingOf)).toEqual(['transfer-encoding: chunked'])
    }
    const { app, seen } = await start(way, 'unchunk: 0')
    await send(app, [`${HEAD}\r\n${chunk('hello')}`])
    await expect.poll(() => seen[0]?.body).toBe(chunk('hello'))
  })

  it('a body in chunks that turns out to be long arrives whole, from its beginning', async () => {
    const { app, seen } = await start(way)
    const letters = 'abcdefghij'.repeat(2_000)
    const { statuses } = await send(app, [
      `${HEAD}\r\n`,
      ...Array.from({ length: 10 }, () => chunk(letters)),
      '0\r\n\r\n',
    ])
    await expect.poll(statuses).toEqual([200])
    expect(seen[0]?.body.replaceAll(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n/g, '')).toContain(letters)
    expect(seen[0]?.body.match(/[ghij]/g)).toHaveLength(80_000)
  })

  it('a body in chunks is asked for once where its client waits for that, however long it is', async () => {
    for (const length of [5, 100_000]) {
      const { app } = await start(way)
      const body = `${chunk('a'.repeat(length))}0\r\n\r\n`
      const { statuses } = await send(app, [`${HEAD}Expect: 100-continue\r\n\r\n`, body])
      await expect.poll(statuses).toEqual([100, 200])
    }
  })

  it('a body in chunks that its client does not finish reaches nobody, costs nothing, and takes no place at the upstream from others', async () => {
    const { app, seen } = await start(way, 'max_connections: 1, queue_timeout: 200ms')
    const { socket } = await send(app, [`${HEAD}\r\n${chunk('hello')}`])
    const other = HEAD.replace('POST', 'GET')
      .replace('Transfer-Encoding: chunked\r\n', '')
      .replace(jwtOf('alice'), jwtOf('bob'))
    const { statuses } = await send(app, [`${other}\r\n`])
    await expect.poll(statuses).toEqual([200])
    socket.destroy()
    await expect
      .poll(() => app.requests().map(({ outcome, charged, cost }) => [outcome, charged ?? cost]))
      .toEqual([
        ['forwarded', 1],
        ['aborted', 0],
      ])
    expect(seen).toHaveLength(1)
  })
})
