import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ResponseReceiver } from '../../../src/forward/client/contract.ts'
import {
  assertNoSurprises,
  CLOSE,
  clientOf,
  destinationOf,
  exchangeRaw,
  gatewayTo,
  get,
  OK,
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

  describe('a receiver whose response has ended', () => {
    /** Keeps what it is called with, and wants no more after each piece. */
    function receiver(): ResponseReceiver & { readonly heard: string[] } {
      const heard: string[] = []
      return {
        heard,
        sending: false,
        onPause: () => false,
        onDrain: () => {},
        onUnsent: () => {},
        onInterim: () => {},
        onHead: () => {},
        onBody: (piece) => void heard.push(piece.toString('latin1')),
        onEnd: () => void heard.push('END'),
        onFailure: (error) => void heard.push(error.message),
      }
    }
    const request = (target: string) => ({ method: 'GET', target, host: 'a', headers: [], body: null, last: false })

    it('a receiver whose response has ended has no say any more in what its connection reads', async () => {
      const upstream = await rawUpstream((socket, text) => {
        socket.write(text.includes('/first') ? OK : 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\none,')
      })
      const { opened } = clientOf(destinationOf(upstream.url), { maxConnections: 1 })
      const [first, second] = [receiver(), receiver()]
      const connection = await opened()
      connection.send(request('/first'), first)
      await until(() => first.heard.includes('END'))
      expect(await opened()).toBe(connection)
      connection.send(request('/second'), second)
      await until(() => second.heard.length > 0)
      connection.resume(first)
      upstream.sockets[0]?.write('two.')
      await sleep(150)
      expect(second.heard).toEqual(['one,'])
      connection.resume(second)
      await until(() => second.heard.includes('END'))
      expect(second.heard).toEqual(['one,', 'two.', 'END'])
    })
  })
})
