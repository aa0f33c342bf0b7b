import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import net from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { requestIdOf } from '../../src/edge/request-id.ts'
import { listening } from '../setup/listening.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let server: http.Server
let client: net.Socket
beforeAll(async () => {
  server = http.createServer((_, res) => res.end())
  client = net.connect(await listening(server), '127.0.0.1')
})
afterAll(() => {
  client.destroy()
})

async function idOf(fields: string, isProxy: boolean): Promise<string> {
  const asked = once(server, 'request')
  client.write(`GET / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`)
  const [req] = (await asked) as [IncomingMessage]
  return requestIdOf(req, () => isProxy)
}

it('each request has an id of its own, a UUID of version 4', async () => {
  const ids = [await idOf('', false), await idOf('', true), await idOf('X-Request-Id: a\r\n', false)]
  for (const id of ids) expect(id).toMatch(UUID)
  expect(new Set(ids).size).toBe(3)
})

it.each(['hop/1:a.b+c=d@e~f-g', 'a'.repeat(128)])('the id that a proxy gives a request is kept: %s', async (id) => {
  expect(await idOf(`X-Request-Id: ${id}\r\n`, true)).toBe(id)
})

it.each([
  ['two of them', 'X-Request-Id: a\r\nX-Request-Id: b\r\n'],
  ['too long', `X-Request-Id: ${'a'.repeat(129)}\r\n`],
  ['a list of two', 'X-Request-Id: a, b\r\n'],
  ['of other characters', 'X-Request-Id: a b\r\n'],
  ['more than an id in a line of JSON', 'X-Request-Id: a","user":"root\r\n'],
  ['empty', 'X-Request-Id:\r\n'],
])('an id from a proxy is replaced if it is %s', async (_, fields) => {
  expect(await idOf(fields, true)).toMatch(UUID)
})
