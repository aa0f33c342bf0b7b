import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { listening } from '../setup/listening.ts'
import { assertNoSurprises, gatewayTo, overEachWay, rawClient, until } from './support.ts'

assertNoSurprises()

const DENIED = 'HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlong'
const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\n'

/** An upload in pieces that come one after the other, so that the upstream is gone before the last of them. */
async function upload(port: number, length: number) {
  const client = rawClient(port, `${HEAD}Content-Length: ${length}\r\n\r\n`)
  const piece = Buffer.alloc(16 * 1024, 'a')
  for (let sent = 0; sent < length && !client.socket.destroyed; sent += piece.length) {
    client.socket.write(piece.subarray(0, Math.min(piece.length, length - sent)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return client
}

overEachWay(({ tcpServer, scheme }) => {
  /** Responds to the head of each request, and does not read the rest. */
  async function start(leave: (socket: Socket) => unknown) {
    const server = tcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.pause()
        leave(socket)
      })
    })
    const port = await listening(server)
    return gatewayTo(`${scheme}://127.0.0.1:${port}`)
  }

  it('a response that came before the upstream closed over an upload reaches the client', async () => {
    const gateway = await start((socket) => socket.write(DENIED, () => socket.destroy()))
    for (let i = 0; i < 20; i++) {
      const client = await upload(gateway.port, 70_000 + 50_000 * (i % 10))
      await client.until('long')
      expect(client.text()).toMatch(/^HTTP\/1\.1 413 /)
    }
    await until(() => gateway.results.length === 20)
    expect(new Set(gateway.results.map(({ outcome, httpStatus }) => `${outcome} ${httpStatus}`))).toEqual(
      new Set(['forwarded 413']),
    )
  })

  it('an upstream that closes over an upload without a response is a failure', async () => {
    const gateway = await start((socket) => socket.destroy())
    const client = await upload(gateway.port, 500_000)
    await client.until('bad_upstream_answer')
    expect((await gateway.settled()).outcome).toBe('failed')
  })

  it('a response that is not whole when the upstream closes over an upload is never passed on as whole', async () => {
    for (const head of ['Content-Length: 100\r\n', 'Transfer-Encoding: chunked\r\n', '']) {
      const begun = `HTTP/1.1 413 x\r\n${head}\r\n${head.startsWith('T') ? '4\r\nlong\r\n' : 'long'}`
      const gateway = await start((socket) => socket.write(begun, () => socket.destroy()))
      const client = await upload(gateway.port, 2_000_000)
      await until(() => client.socket.destroyed)
      const result = await gateway.settled()
      // Without a length a clean end of the upstream ends the response too.
      if (head !== '' || result.outcome === 'failed') expect(client.text()).not.toMatch(/0\r\n\r\n$|^0$/)
      if (head !== '') expect(result.outcome).toBe('failed')
    }
  })
})
