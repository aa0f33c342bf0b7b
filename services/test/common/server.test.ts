import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closedAtEnd } from '../../../test/setup/at-end.ts'
import { createHttp } from '../../common/server.ts'
import { saidTo } from '../responses.ts'

it('closing lets a request under way finish, and does not wait for a client that is gone in the middle of one', async () => {
  const http = createHttp({ bodyLimit: 100, unreadable: (what) => ({ what }) })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  http.app.get('/slow', async () => {
    await held
    return { done: true }
  })
  const { url } = await http.listen({ host: '127.0.0.1', port: 0 })
  const slow = fetch(`${url}/slow`)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write('GET /slow HTTP/1.1\r\nHost: lo')
  // Until it has been read, the connection is an idle one.
  await sleep(100)
  const ended = once(socket.resume(), 'close')
  const closed = http.close()
  release()
  expect(await (await slow).json()).toEqual({ done: true })
  await Promise.all([closed, ended])
})

it.each([
  ['is no HTTP', 'nonsense\r\n\r\n', '400 Bad Request', 'not a valid HTTP request'],
  ['is too slow', 'GET / HTTP/1.1\r\n', '408 Request Timeout', 'the request did not arrive within 60 s'],
  [
    'has too large a head',
    `GET / HTTP/1.1\r\nHost: x\r\nCookie: ${'x'.repeat(20_000)}\r\n\r\n`,
    '431 Request Header Fields Too Large',
    'the head of the request is too large',
  ],
])('a request that %s gets the status and the body that say so', async (_what, sent, status, what) => {
  const http = closedAtEnd(createHttp({ bodyLimit: 100, unreadable: (what) => ({ what }) }))
  // Node looks every 30 s for requests of more than 60 s.
  Object.assign(http.app.server, { requestTimeout: 200, headersTimeout: 200, connectionsCheckingInterval: 50 })
  const { url } = await http.listen({ host: '127.0.0.1', port: 0 })
  const response = await saidTo(url, sent)
  expect(response).toMatch(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n`)
  expect(response).toMatch(`\r\n\r\n${JSON.stringify({ what })}`)
})
