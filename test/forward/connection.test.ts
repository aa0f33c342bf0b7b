import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, describe, expect, it } from 'vitest'
import { makeCa, makeCertificate } from '../setup/openssl.ts'
import { assertNoSurprises, exchangeRaw, gatewayTo, get, listen, onCleanup, rawClient, until } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-connection-'))
afterAll(() => rmSync(folder, { recursive: true }))
assertNoSurprises()

const authority = makeCa(folder, 'ca')
const { cert, key } = makeCertificate(folder, 'server', authority, 'DNS:upstream.test')

/** Where a response is of a size at which the client's side fills while the upstream's last bytes are already here. */
const SIZES = [66_000, 70_000, 75_000, 80_000]

describe.each(['http', 'https'] as const)('a connection to an %s upstream', (scheme) => {
  /** Responds to everything at once with as many bytes as the path says; to /slow after 200 ms. */
  async function upstream(): Promise<{ url: string; heads: string[] }> {
    const heads: string[] = []
    const serve = (socket: Socket): void => {
      socket.on('error', () => {})
      socket.on('data', async (bytes) => {
        const path = String(bytes).split(' ')[1] ?? ''
        heads.push(path)
        if (path === '/slow') await sleep(200)
        const length = Number(/size\/(\d+)/.exec(path)?.[1] ?? 2)
        const head = `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`
        socket.write(Buffer.concat([Buffer.from(head), Buffer.alloc(length, 'x')]))
      })
      onCleanup(() => socket.destroy())
    }
    const server: Server =
      scheme === 'https'
        ? createTlsServer({ noDelay: true, cert, key }, serve)
        : createTcpServer({ noDelay: true }, serve)
    return { url: `${scheme}://127.0.0.1:${await listen(server)}`, heads }
  }

  it.each(SIZES)('serves the next request also after a response of %i bytes whose reader was stopped', async (size) => {
    const { url, heads } = await upstream()
    const gateway = await gatewayTo(url, {
      responseTimeoutMs: 3_000,
      tls: { ca: authority.cert, serverName: 'upstream.test' },
    })
    for (let round = 0; round < 3; round++) {
      const asked = heads.length
      // The second response waits behind the first, so that its reader takes no more in the middle of it.
      const pipelining = await rawClient(gateway.port)
      pipelining.socket.write(get('/slow') + get(`/size/${size}`))
      await until(() => heads.length === asked + 2)
      await sleep(60)
      const other = await exchangeRaw(gateway.port, get('/other', 'Connection: close\r\n'))
      expect(other.text).toMatch(/^HTTP\/1\.1 200 .*xx$/s)
      pipelining.socket.destroy()
    }
  })
})
