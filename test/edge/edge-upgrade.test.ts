import { beforeAll, describe, expect, test } from 'vitest'
import { isWebSocketHandshake } from '../../src/edge/head-rules.ts'
import { readBehindUpgrade } from '../../src/node/ignored-upgrade.ts'
import { startEdge, type TestEdge } from './edge-server.ts'

/** The listener as it is meant to be used, and one that lets every upgrade through to `checkUpgrade`. */
let edge: TestEdge
let eager: TestEdge
beforeAll(async () => {
  edge = await startEdge({
    shouldUpgradeCallback: (req) => {
      const isTaken = isWebSocketHandshake(req)
      if (!isTaken) readBehindUpgrade(req)
      return isTaken
    },
  })
  eager = await startEdge({ shouldUpgradeCallback: () => true })
})

const HANDSHAKE: readonly (readonly [string, string])[] = [
  ['Host', 'example.org'],
  ['Upgrade', 'websocket'],
  ['Connection', 'Upgrade'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
]

const NEXT = 'GET /next HTTP/1.1\r\nHost: example.org\r\n\r\n'

/** The handshake with some headers changed; `null` leaves one out. */
function handshake(changes: Readonly<Record<string, string | null>> = {}, line = 'GET /ws HTTP/1.1'): string {
  const headers = new Map<string, string | null>([...HANDSHAKE, ...Object.entries(changes)])
  const lines = [...headers].filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line}\r\n${lines.join('')}\r\n`
}

describe('a WebSocket handshake', () => {
  test.each([
    ['as in RFC 6455', {}],
    ['of Firefox', { Connection: 'keep-alive, Upgrade' }],
    ['in other letters', { Upgrade: 'WebSocket', Connection: 'UPGRADE' }],
    ['of the JDK and of Dart, with an empty body', { 'Content-Length': '0' }],
    ['that offers another protocol too', { Upgrade: 'h2c, websocket' }],
    ['that offers an older version too', { 'Sec-WebSocket-Version': '13, 8' }],
  ])('%s opens a tunnel', async (_, changes) => {
    const { accepted, statuses } = await edge.send(handshake(changes))
    expect(accepted).toEqual([{ line: 'UPGRADE /ws', body: '' }])
    expect(statuses).toEqual([101])
  })
})

const NO_HANDSHAKE: readonly (readonly [string, string])[] = [
  ['h2c', handshake({ Upgrade: 'h2c' })],
  ['an unknown protocol', handshake({ Upgrade: 'websocket2' })],
  ['no version', handshake({ 'Sec-WebSocket-Version': null })],
  ['version 8', handshake({ 'Sec-WebSocket-Version': '8' })],
  ['two versions, none of them 13', handshake({ 'Sec-WebSocket-Version': '8, 113' })],
  ['no key', handshake({ 'Sec-WebSocket-Key': null })],
  ['a key of 15 bytes', handshake({ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25j' })],
  ['a key that is not base64', handshake({ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25*ZQ==' })],
  ['HTTP/1.0', handshake({}, 'GET /ws HTTP/1.0')],
  ['another method', handshake({}, 'POST /ws HTTP/1.1')],
]

const WITH_BODY: readonly (readonly [string, string])[] = [
  ['POST', handshake({ 'Content-Length': '0' }, 'POST /ws HTTP/1.1')],
  ['Content-Length', `${handshake({ 'Content-Length': '5' })}hello`],
  ['Transfer-Encoding', `${handshake({ 'Transfer-Encoding': 'chunked' })}5\r\nhello\r\n0\r\n\r\n`],
]

describe('an upgrade that is no WebSocket handshake', () => {
  test.each([...NO_HANDSHAKE, ...WITH_BODY])('%s: is served as the plain request that it also is', async (_, text) => {
    const { accepted, statuses } = await edge.send(text)
    expect(accepted.map(({ line }) => line)).toEqual([`${text.split(' ')[0]} /ws`])
    expect(statuses).toEqual([200])
  })

  test.each([...NO_HANDSHAKE, ...WITH_BODY])('%s: opens no tunnel where it comes as an upgrade', async (_, text) => {
    const { accepted, statuses, closed } = await eager.send(text)
    expect(accepted).toEqual([])
    expect(statuses).toEqual([400])
    expect(closed).toBe(true)
  })

  test.each([...NO_HANDSHAKE, ...WITH_BODY].filter(([what]) => what !== 'HTTP/1.0'))(
    '%s: loses nothing of what is behind it',
    async (_, text) => {
      const { accepted, statuses, closed } = await edge.send(text + NEXT)
      expect(accepted.map(({ line }) => line).sort()).toEqual(['GET /next', `${text.split(' ')[0]} /ws`].sort())
      expect(statuses).toEqual([200, 200])
      expect(closed).toBe(false)
    },
  )

  test('only one half of it, Upgrade or the Connection that names it, is no upgrade, and the connection lives on', async () => {
    for (const half of [{ Connection: 'keep-alive' }, { Upgrade: null }]) {
      const { accepted, closed } = await edge.send(handshake(half) + NEXT)
      expect(accepted.map(({ line }) => line)).toEqual(['GET /ws', 'GET /next'])
      expect(closed).toBe(false)
    }
  })
})

describe('the edge rules hold for an upgrade', () => {
  test.each([
    ['no Host, which Node does not ask of an upgrade', handshake({ Host: null }), 400],
    ['an invalid Host', handshake({ Host: 'a b' }), 400],
    ['two credentials', handshake({ Authorization: 'Bearer a', authorization: 'Bearer b' }), 400],
    ['a nominated credential', handshake({ Connection: 'Upgrade, Authorization' }), 400],
    ['a name with an underscore', handshake({ X_Tollgate_User: 'root' }), 400],
    ['an absolute target', handshake({}, 'GET http://evil/ws HTTP/1.1'), 400],
    ['another expectation', handshake({ Expect: 'y' }), 417],
  ])('%s', async (_, text, status) => {
    const { accepted, statuses, closed } = await edge.send(text)
    expect(accepted).toEqual([])
    expect(statuses).toEqual([status])
    expect(closed).toBe(true)
  })
})
