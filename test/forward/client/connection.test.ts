import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Connection } from '../../../src/forward/client/connection.ts'
import { Connections } from '../../../src/forward/client/pool.ts'
import {
  assertNoSurprises,
  CLOSE,
  destinationOf,
  exchangeRaw,
  gatewayTo,
  get,
  OK,
  onCleanup,
  overEachWay,
  rawClient,
  until,
} from '../support.ts'

assertNoSurprises()

overEachWay(({ rawUpstream }) => {
  // Sizes at which the client's side fills while the last bytes of the response are already here.
  it.each([66_000, 70_000, 75_000, 80_000])(
    'a connection serves the next request also after a response of %i bytes whose reader was stopped',
    async (size) => {
      const upstream = await rawUpstream(async (socket, head) => {
        socket.setNoDelay()
        if (head.includes('/slow')) await sleep(200)
        const body = 'x'.repeat(head.includes('/large') ? size : 2)
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      })
      const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 3_000 })
      for (let round = 0; round < 3; round++) {
        // The second response waits behind the first, so that its reader takes no more in the middle of it.
        const pipelining = rawClient(gateway.port, get('/slow') + get('/large'))
        await until(() => upstream.received.join('').split('/large').length === round + 2)
        await sleep(60)
        const other = await exchangeRaw(gateway.port, get('/other', CLOSE))
        expect(other.text).toMatch(/^HTTP\/1\.1 200 .*xx$/s)
        pipelining.socket.destroy()
      }
    },
  )

  describe('an exchange whose answer has ended', () => {
    /** Keeps what it is told, and wants no more after each piece. */
    const exchange = () => {
      const told: string[] = []
      return {
        told,
        sending: false,
        onPause: () => false,
        onDrain: () => {},
        onInterim: () => {},
        onHead: () => {},
        onBody: (piece: Buffer | string) => void told.push(piece.toString('latin1')),
        onEnd: () => void told.push('END'),
        onFailure: (error: Error) => void told.push(error.message),
      }
    }
    const head = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

    it('has no say any more in what its connection reads', async () => {
      const upstream = await rawUpstream((socket, text) => {
        socket.write(text.includes('/first') ? OK : 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\none,')
      })
      const limits = {
        responseTimeoutMs: 60_000,
        idleTimeoutMs: 60_000,
        keepAliveMs: 4_000,
        connectionMaxAgeMs: 60_000,
        maxConnections: 1,
        queueTimeoutMs: 30_000,
      }
      const connections = new Connections({ destination: destinationOf(upstream.url), ...limits })
      onCleanup(() => connections.destroy())
      const opened = () => new Promise<Connection>((start, expire) => connections.acquire({ start, expire }))
      const [first, second] = [exchange(), exchange()]
      const connection = await opened()
      connection.send(first, head('/first'), false, false)
      await until(() => first.told.includes('END'))
      expect(await opened()).toBe(connection)
      connection.send(second, head('/second'), false, false)
      await until(() => second.told.length > 0)
      connection.resume(first)
      upstream.sockets[0]?.write('two.')
      await sleep(150)
      expect(second.told).toEqual(['one,'])
      connection.resume(second)
      await until(() => second.told.includes('END'))
      expect(second.told).toEqual(['one,', 'two.', 'END'])
    })
  })
})
