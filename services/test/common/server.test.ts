import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createHttp } from '../../common/server.ts'

it('closing lets a request under way finish, and does not wait for a client that is gone in the middle of one', async () => {
  const http = createHttp({ bodyLimit: 100, malformed: (what) => ({ what }) })
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
