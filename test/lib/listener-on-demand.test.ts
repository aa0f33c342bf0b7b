import { once } from 'node:events'
import http from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { type ListenerOnDemand, listenerOnDemand, type Prepared } from '../../src/lib/listener-on-demand.ts'

const LOOPBACK = { host: '127.0.0.1', port: 0 }

let listener: ListenerOnDemand
afterEach(() => listener.close())

let made = 0
let failures: unknown[] = []
async function open(prepare: () => Promise<Prepared>): Promise<number> {
  made = 0
  failures = []
  listener = listenerOnDemand({
    maxConnections: 10,
    onFailure: (error) => failures.push(error),
    prepare: () => {
      made++
      return prepare()
    },
  })
  return (await listener.listen(LOOPBACK)).port
}

function serverOf(serve: http.RequestListener): Prepared {
  const server = http.createServer(serve)
  return {
    server,
    close: async () => {
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const prompt = async (): Promise<Prepared> => serverOf((req, res) => res.end(`path ${req.url}`))

async function get(port: number, path: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  return (await text(socket)).split('\r\n\r\n')[1] ?? ''
}

test('the server is made when somebody connects, once, and serves those that came meanwhile and later', async () => {
  const isMade = Promise.withResolvers<void>()
  const port = await open(async () => {
    await isMade.promise
    return prompt()
  })
  expect(made).toBe(0)
  const early = [get(port, '/a'), get(port, '/b')]
  await expect.poll(() => made, { timeout: 20_000 }).toBe(1)
  isMade.resolve()
  expect(await Promise.all(early)).toEqual([expect.stringContaining('path /a'), expect.stringContaining('path /b')])
  expect(await get(port, '/c')).toContain('path /c')
  expect([made, failures]).toEqual([1, []])
})

test('a server that cannot be made is reported, ends those that waited, and is tried again with the next one', async () => {
  const port = await open(async () => {
    if (made === 1) throw new Error('no memory')
    return prompt()
  })
  expect(await get(port, '/a').catch(() => '')).toBe('')
  expect(failures).toEqual([new Error('no memory')])
  expect(await get(port, '/b')).toContain('path /b')
})

test('a client that is gone before there is a server does no harm', async () => {
  const isMade = Promise.withResolvers<void>()
  const port = await open(async () => {
    await isMade.promise
    return prompt()
  })
  const gone = connect(port, '127.0.0.1')
  await expect.poll(() => made, { timeout: 20_000 }).toBe(1)
  gone.resetAndDestroy()
  await once(gone, 'close')
  isMade.resolve()
  expect(await get(port, '/a')).toContain('path /a')
})

test('to close waits for the response to a client of the first hour, and nobody is let in any more', async () => {
  const responses: http.ServerResponse[] = []
  const port = await open(async () => serverOf((_req, res) => void responses.push(res)))
  const reply = get(port, '/a')
  await expect.poll(() => responses.length, { timeout: 20_000 }).toBe(1)
  const closed = listener.close()
  await expect.poll(() => get(port, '/b').catch(({ code }) => code), { timeout: 20_000 }).toBe('ECONNREFUSED')
  responses[0]?.end('at last')
  expect(await reply).toContain('at last')
  await closed
})

test('to close does not wait for a client of the first hour that leaves half a request', async () => {
  let requests = 0
  const port = await open(async () => serverOf((_req, res) => res.end(`request ${++requests}`)))
  const half = connect(port, '127.0.0.1')
  half.on('error', () => {}).resume()
  half.write('GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /half HTTP/1.1\r\nHos')
  await expect.poll(() => requests, { timeout: 20_000 }).toBe(1)
  const end = once(half, 'close')
  await listener.close()
  await end
})

test('an idle connection of the first hour closes at once when the server does', async () => {
  const prepared = serverOf((_req, res) => res.end('served'))
  // Nothing else ends it.
  Object.assign(prepared.server, { keepAliveTimeout: 0 })
  const idle = connect(await open(async () => prepared), '127.0.0.1')
  idle.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(idle, 'data')
  const end = once(idle, 'close')
  idle.resume()
  await prepared.close()
  await end
})

test('one that nobody has connected to closes without a server', async () => {
  const port = await open(prompt)
  await listener.close()
  await expect(get(port, '/')).rejects.toThrow('ECONNREFUSED')
  expect(made).toBe(0)
})

test('an address that is taken is an error', async () => {
  const port = await open(prompt)
  const other = listenerOnDemand({ maxConnections: 1, prepare: prompt, onFailure: () => {} })
  await expect(other.listen({ host: '127.0.0.1', port })).rejects.toThrow('EADDRINUSE')
})
