import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { listening } from '../../../../test/setup/listening.ts'
import { exchange, TooSlow } from '../../../score/external/http.ts'

const limits = { connectTimeout: 10_000, readTimeout: 10_000, maxResponse: 1024 }

/** A server below HTTP. */
async function startServer(onSocket: (socket: Socket) => void) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    onSocket(socket)
  })
  await listening(server)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets }
}

it('an exchange has the response that comes before all was sent, and sends no more', async () => {
  const { url, sockets } = await startServer((socket) => {
    socket.pause().write('HTTP/1.1 413 Payload Too Large\r\nContent-Length: 2\r\n\r\nno')
  })
  const body = 'x'.repeat(64 * 1024 * 1024)
  const reply = await exchange({ method: 'POST', url, headers: {}, body }, limits, AbortSignal.timeout(20_000))
  expect(reply).toMatchObject({ status: 413, body: Buffer.from('no') })
  const [socket] = sockets as [Socket]
  await new Promise((resolve) => socket.on('close', resolve).resume())
  expect(socket.bytesRead).toBeLessThan(body.length)
})

it.each(['upgrade', 'silence'])(
  'an exchange ends with a connection that is closed without a response: by %s',
  async (how) => {
    const responses = {
      upgrade: 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
      silence: '',
    }
    const { url } = await startServer((socket) => socket.once('data', () => socket.end(responses[how as 'silence'])))
    const outgoing = { method: 'GET', url, headers: {} } as const
    expect(await exchange(outgoing, limits, AbortSignal.timeout(20_000))).toEqual({ failed: 'connection' })
  },
)

it('an exchange does not begin if nobody waits for it', async () => {
  const { url, sockets } = await startServer(() => {})
  const outgoing = { method: 'GET', url, headers: {} } as const
  expect(await exchange(outgoing, limits, AbortSignal.abort())).toEqual({ failed: 'left' })
  expect(await exchange(outgoing, limits, AbortSignal.abort(new TooSlow()))).toEqual({ failed: 'timeout' })
  expect(sockets).toEqual([])
})

it('an exchange takes a body up to the limit, and not a byte more', async () => {
  const { url } = await startServer((socket) => {
    socket.once('data', (head) => {
      const size = Number(/^GET \/(\d+)/.exec(head.toString())?.[1])
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`)
    })
  })
  const get = (size: number) =>
    exchange({ method: 'GET', url: `${url}${size}`, headers: {} }, limits, AbortSignal.timeout(20_000))
  expect(await get(1024)).toMatchObject({ status: 200, body: { length: 1024 } })
  expect(await get(1025)).toEqual({ failed: 'response' })
})

it('an exchange leaves no connection behind, however it ends', async () => {
  const { url, sockets } = await startServer((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nx'))
  })
  const outgoing = { method: 'GET', url, headers: {} } as const
  const left = new AbortController()
  const ways = [
    exchange(outgoing, { ...limits, readTimeout: 50 }, AbortSignal.timeout(20_000)),
    exchange(outgoing, { ...limits, maxResponse: 0 }, AbortSignal.timeout(20_000)),
    exchange(outgoing, limits, left.signal),
  ]
  await expect.poll(() => sockets.length).toBe(3)
  left.abort()
  expect(await Promise.all(ways)).toEqual([{ failed: 'timeout' }, { failed: 'response' }, { failed: 'left' }])
  await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true)
})
