import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { addressesInTurn } from '../../../src/forward/client/addresses.ts'
import type { Connection } from '../../../src/forward/client/contract.ts'
import { atEnd } from '../../setup/at-end.ts'
import { assertNoSurprises, clientOf, destinationOf, overEachTransport, until } from '../support.ts'

assertNoSurprises()

overEachTransport(({ scheme, tcpServer }) => {
  /** An upstream that listens on some of the addresses of its name, on one port. */
  async function replicas(addresses: readonly string[]) {
    const accepted = new Map<string, number>()
    let port = 0
    for (const address of addresses) {
      accepted.set(address, 0)
      const server = tcpServer((socket) => {
        accepted.set(address, (accepted.get(address) ?? 0) + 1)
        socket.on('error', () => {}).resume()
        atEnd(() => socket.destroy())
      })
      server.listen(port, address)
      await once(server, 'listening')
      atEnd(() => server.close())
      port = (server.address() as AddressInfo).port
    }
    return { port, counts: () => [...accepted.values()] }
  }

  /** Connections to a name whose addresses the test decides. */
  function connectionsTo(port: number, resolve: () => string[]): () => Promise<Connection> {
    const lookup = addressesInTurn((_name, _options, callback) => {
      const addresses = resolve().map((address) => ({ address, family: 4 }))
      queueMicrotask(() => callback(null, addresses))
    })
    const destination = { ...destinationOf(`${scheme}://upstream.test:${port}`), lookup }
    return clientOf(destination, { keepAliveMs: 60_000, maxConnections: 100 }).opened
  }

  it('new connections are shared among all addresses of a name, also where the resolver begins with another each time', async () => {
    const all = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
    for (const turn of [0, 1]) {
      const { port, counts } = await replicas(all)
      let asked = 0
      const open = connectionsTo(port, () => {
        asked += turn
        const start = asked % all.length
        return [...all.slice(start), ...all.slice(0, start)]
      })
      await Promise.all(Array.from({ length: 12 }, open))
      await until(() => counts().reduce((sum, n) => sum + n, 0) === 12)
      expect(counts()).toEqual([4, 4, 4])
    }
  })

  it('an address that takes no connection is passed over', async () => {
    const { port, counts } = await replicas(['127.0.0.1', '127.0.0.3'])
    const open = connectionsTo(port, () => ['127.0.0.1', '127.0.0.2', '127.0.0.3'])
    await Promise.all(Array.from({ length: 9 }, open))
    await until(() => counts().reduce((sum, n) => sum + n, 0) === 9)
    expect(Math.min(...counts())).toBeGreaterThan(0)
  })

  it('a name that leads elsewhere is followed by the next connection', async () => {
    const { port, counts } = await replicas(['127.0.0.1', '127.0.0.2'])
    let address = '127.0.0.1'
    const open = connectionsTo(port, () => [address])
    await open()
    address = '127.0.0.2'
    await open()
    await until(() => counts()[1] === 1)
    expect(counts()).toEqual([1, 1])
  })
})
