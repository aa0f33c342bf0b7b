import { once } from 'node:events'
import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { hold, isOfGateway, wrongResponses } from './own-responses.ts'

const json = (schema: object) => ({ description: '`no`', content: { 'application/json': { schema } } })
const NAMED = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const CODED = { type: 'object', properties: { error: { type: 'string' } }, required: ['error'] }
const DOCUMENT = {
  paths: { '/a/{id}': { get: { responses: { 200: json(NAMED), 400: { $ref: '#/components/responses/Bad' } } } } },
  components: { responses: { Bad: json(CODED) } },
}

let stop = () => {}
afterEach(() => stop())

async function start(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.on('upgrade', (_req, socket) => {
    const head = 'HTTP/1.1 400 Bad Request\r\nX-Content-Type-Options: nosniff\r\nContent-Type: application/json\r\n'
    socket.write(`${head}Content-Length: 17\r\nConnection: close\r\n\r\n{"error":"other"}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const release = hold(url, { document: () => DOCUMENT, isOwn: isOfGateway })
  stop = () => {
    release()
    server.closeAllConnections()
    server.close()
  }
  return url
}

const OWN = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' }

test('a response of the gateway that its document does not promise is told, whole or in pieces, plain or zipped', async () => {
  const bodies = ['{"name":"x"}', '{"name":1}', '{"na', '{"title":"zipped"}']
  const url = await start((_req, res) => {
    const body = bodies.shift() ?? ''
    if (body === '{"na') {
      res.writeHead(200, OWN)
      res.write(body)
      res.end('me":2}')
    } else if (body.includes('zipped')) res.writeHead(200, { ...OWN, 'content-encoding': 'gzip' }).end(gzipSync(body))
    else res.writeHead(200, OWN).end(body)
  })
  for (let i = 0; i < 4; i++) await (await fetch(`${url}/a/1`)).text()
  expect(await wrongResponses()).toEqual([
    expect.stringMatching(/^GET \/a\/1: .*name must be string: 200 \{"name":1\}$/),
    expect.stringMatching(/^GET \/a\/1: .*name must be string: 200 \{"name":2\}$/),
    expect.stringMatching(/^GET \/a\/1: .*required property 'name': 200 /),
  ])
})

test('a response of the service is none of the gateway, and one with another status or code is told', async () => {
  const url = await start((req, res) => {
    const own = req.url !== '/a/service'
    const [status, error] = req.url === '/a/coded' ? [400, 'other'] : [418, 'no']
    res.writeHead(own ? status : 418, own ? OWN : {}).end(JSON.stringify({ error }))
  })
  for (const name of ['service', 'status', 'coded']) await (await fetch(`${url}/a/${name}`)).text()
  expect(await wrongResponses()).toEqual([
    expect.stringContaining('status 418 is not in the document'),
    expect.stringContaining('the error other is not in the document'),
  ])
})

test('a response on a bare socket is held against what any request may get', async () => {
  const url = await start((_req, res) => res.end())
  const sent = request(url, { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
  sent.end()
  await once(sent, 'response')
  expect(await wrongResponses()).toEqual([expect.stringContaining('the error other is not in the document')])
})
