import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl } from '../setup/ways.ts'
import { startApp, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

const certificates = makeCertificates()

const FIELDS = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** A frame of text that a client sends, masked with zeros, and the same as a server sends it. */
const SENT = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
const ECHOED = Buffer.from([0x81, 0x02, 0x68, 0x69])

describe.each(BOTH_WAYS)('a WebSocket of a real server, $name', (way) => {
  async function open(changes: Record<string, string>, body = '') {
    const webSockets = new WebSocketServer({ noServer: true })
    webSockets.on('connection', (socket) => socket.on('message', (data) => socket.send(String(data))))
    const handshakes: string[] = []
    const inner = createServer((_req, res) => res.writeHead(426).end())
    inner.on('upgrade', (req, socket, head) => {
      handshakes.push(req.rawHeaders.join('\n'))
      webSockets.handleUpgrade(req, socket, head, (opened) => webSockets.emit('connection', opened))
    })
    const server = certificates.server(way, (socket) => inner.emit('connection', socket))
    await listening(server)
    const rest = `unmatched: { category: read, cost: 1 }\n${certificates.listener(way)}`
    const app = await startApp(yaml(upstreamUrl(way, server), rest, undefined, certificates.upstream(way)))
    const client = connectTo(app.url)
    atEnd(() => client.destroy())
    const fields = Object.entries({ Host: 'a', Authorization: `Bearer ${jwtOf('alice')}`, ...FIELDS, ...changes })
    client.write(`GET /ws HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
    let received = ''
    client.on('data', (data) => {
      received += data.toString('latin1')
    })
    await expect.poll(() => received.includes('\r\n\r\n')).toBe(true)
    return { client, app, handshakes, text: () => received }
  }

  it.each([
    ['of Firefox', { Connection: 'keep-alive, Upgrade' }],
    ['in other letters', { Upgrade: 'WebSocket', Connection: 'UPGRADE' }],
    ['of the JDK, of Dart and of devices, with an empty body', { 'Content-Length': '0' }],
    ['that offers h2c too', { Upgrade: 'websocket, h2c' }],
    ['that offers version 8 too', { 'Sec-WebSocket-Version': '13, 8' }],
  ])('a WebSocket of a real server opens for a client %s', async (_what, changes) => {
    const { client, handshakes, text } = await open(changes)
    expect(text()).toMatch(/^HTTP\/1\.1 101 /)
    client.write(SENT)
    await expect.poll(() => text().endsWith(ECHOED.toString('latin1'))).toBe(true)
    expect(handshakes.join()).not.toMatch(/content-length|h2c|, 8/i)
  })

  it.each([
    ['Upgrade is h2c', { Upgrade: 'h2c' }],
    ['Connection does not name Upgrade', { Connection: 'keep-alive' }],
    ['Sec-WebSocket-Version is 8, not 13', { 'Sec-WebSocket-Version': '8' }],
    ['Sec-WebSocket-Key is no base64 of 16 bytes', { 'Sec-WebSocket-Key': 'abc' }],
    ['it has a body', { 'Content-Length': '1' }],
  ])('a WebSocket of a real server is a plain request where %s, and the log says so', async (why, changes) => {
    const { app, client, handshakes, text } = await open(changes, why === 'it has a body' ? 'x' : '')
    expect(text()).toMatch(/^HTTP\/1\.1 426 /)
    client.end()
    await expect.poll(() => app.requests().map(({ notUpgraded }) => notUpgraded)).toEqual([why])
    expect(handshakes).toEqual([])
  })
})
