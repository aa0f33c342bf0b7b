import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { assertNoSurprises, CLOSE, exchangeRaw, gatewayTo, get, overEachWay, rawClient, until } from '../support.ts'

assertNoSurprises()

/** Ways in which one answer, or what is left of one request, could get into another. */

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nme'

overEachWay(({ rawUpstream }) => {
  it('an answer cannot reach into another by having its length named in Connection', async () => {
    const upstream = await rawUpstream((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nConnection: Content-Length\r\nContent-Length: 3\r\n\r\nabc'),
    )
    const gateway = await gatewayTo(upstream.url)
    const { text } = await exchangeRaw(gateway.port, get('/one') + get('/two', CLOSE))
    expect(text.match(/^Content-Length: 3\r$/gm)).toHaveLength(2)
    expect(text.match(/\r\n\r\nabc/g)).toHaveLength(2)
  })

  it('an answer cannot reach into another by an early hint while it waits for its turn', async () => {
    const upstream = await rawUpstream(async (socket, head) => {
      if (head.includes('/first')) return void setTimeout(() => socket.write(OK), 150)
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n')
      await sleep(20)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n')
      for (let i = 0; i < 2; i++) {
        await sleep(20)
        socket.write('B'.repeat(20_000))
      }
    })
    const gateway = await gatewayTo(upstream.url)
    const { text } = await exchangeRaw(gateway.port, get('/first') + get('/second', CLOSE))
    expect(text).toMatch(/^HTTP\/1\.1 200 .*?\r\n\r\nmeHTTP\/1\.1 103 .*?\r\n\r\nHTTP\/1\.1 200 .*?\r\n\r\nB{40000}$/s)
  })

  it.each([
    ['fills a read to the last byte', 65_536],
    ['is shorter than a read', 30_000],
  ])('an answer cannot reach into another by bytes behind it, where it %s', async (_what, size) => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: '
    const body = 'x'.repeat(size - head.length - 9)
    const response = `${head}${body.length}\r\n\r\n${body}`
    expect(response).toHaveLength(size)
    const upstream = await rawUpstream((socket, request) =>
      socket.write(request.includes('/first') ? `${response}${OK.replace('me', 'NO')}` : OK),
    )
    const gateway = await gatewayTo(upstream.url, { maxConnections: 1 })
    for (let i = 0; i < 10; i++) {
      const [, second] = await Promise.all([
        exchangeRaw(gateway.port, get('/first', CLOSE)),
        exchangeRaw(gateway.port, get('/second', CLOSE)),
      ])
      expect(second.text).toMatch(/me$/)
    }
  })

  it('an answer cannot reach into another by a body on a 204 that comes a moment later', async () => {
    const upstream = await rawUpstream((socket, request) => {
      if (!request.includes('/first')) return void socket.write(OK)
      socket.write('HTTP/1.1 204 No Content\r\nContent-Length: 40\r\n\r\n')
      setTimeout(() => socket.write(OK.replace('me', 'NO')), 5)
    })
    const gateway = await gatewayTo(upstream.url, { maxConnections: 1 })
    await exchangeRaw(gateway.port, get('/first', CLOSE))
    const second = await exchangeRaw(gateway.port, get('/second', CLOSE))
    expect(second.text).toMatch(/me$/)
    expect(upstream.sockets).toHaveLength(2)
  })

  it.each([16_384, 65_536])(
    'an answer cannot reach into another by bytes behind it, where a request follows on its end and a read ends there (%i)',
    async (size) => {
      const head = 'HTTP/1.1 200 OK\r\nContent-Length: '
      const body = 'x'.repeat(size - head.length - 9)
      const upstream = await rawUpstream((socket, request) =>
        socket.write(request.includes('/first') ? `${head}${body.length}\r\n\r\n${body}${OK.replace('me', 'NO')}` : OK),
      )
      const ended = Promise.withResolvers<unknown>()
      let asked = 0
      const gateway = await gatewayTo(upstream.url, { admit: async () => (++asked === 2 ? ended.promise : null) })
      gateway.server.prependOnceListener('request', (_req, res) => res.once('finish', () => ended.resolve(null)))
      const first = rawClient(gateway.port, get('/first'))
      const second = rawClient(gateway.port)
      await until(() => asked === 1)
      second.socket.write(get('/second', CLOSE))
      await until(() => second.text() !== '' || second.ending() !== 'closed')
      expect(second.text()).toMatch(/me$/)
      first.socket.destroy()
    },
  )

  it.each([
    ['GET', 200, 3],
    ['POST', 502, 2],
  ])(
    'an answer cannot reach into another by a body to HEAD that comes late: %s behind it gets %i',
    async (method, status, heads) => {
      let asked = 0
      const upstream = await rawUpstream(async (socket, request) => {
        asked++
        if (request.startsWith('HEAD')) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n')
        // The body to HEAD comes when the next request is there, byte by byte.
        if (asked > 2) return void socket.write(OK)
        for (let i = 0; i < 20; i++) {
          if (!socket.destroyed) socket.write('x')
          await sleep(2)
        }
      })
      const gateway = await gatewayTo(upstream.url)
      await exchangeRaw(gateway.port, `HEAD / HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`)
      const { text } = await exchangeRaw(gateway.port, `${method} / HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`)
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(text).not.toMatch(/xx/)
      expect(asked).toBe(heads)
    },
  )

  it('an answer cannot reach into another by breaking off behind it: the one before is whole, and the connection ends there', async () => {
    const upstream = await rawUpstream((socket, request) => {
      if (request.includes('/first')) socket.write(OK)
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nshort')
    })
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, get('/first') + get('/broken') + get('/never'))
    await until(() => client.socket.destroyed)
    expect(client.text().match(/^HTTP\/1\.1 |(?<=me)HTTP\/1\.1 /gm)).toHaveLength(2)
    expect(client.text()).toMatch(/\r\n\r\nmeHTTP/)
    expect(upstream.received.join('')).not.toContain('/never')
  })

  it('an answer cannot reach into another by breaking off behind it: a client that goes on sending is let go after some seconds', async () => {
    const upstream = await rawUpstream((socket, request) => {
      if (request.includes('/first')) setTimeout(() => socket.write(OK), 100)
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nshort')
    })
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, '', true).socket
    client.on('error', () => {})
    client.resume()
    client.write(get('/first') + get('/broken'))
    await once(client, 'end')
    client.write('GET /more HTTP/1.1\r\nHost: x\r\nX-More: ')
    const drip = setInterval(() => client.write('x'), 100)
    await until(() => client.destroyed)
    clearInterval(drip)
  })

  it('an answer cannot reach into another by breaking off behind it: what the client has not read of the one before still comes', async () => {
    const whole = 'y'.repeat(1_500_000)
    const upstream = await rawUpstream((socket, request) => {
      if (request.includes('/first')) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${whole.length}\r\n\r\n${whole}`)
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nshort')
    })
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, get('/first') + get('/broken'))
    client.socket.pause()
    await gateway.settled(2)
    expect(gateway.results.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'forwarded'])
    // What comes now must not be answered by a reset either.
    client.socket.write(get('/more'))
    await sleep(50)
    client.socket.resume()
    await until(() => client.socket.destroyed)
    expect(client.text()).toContain(`\r\n\r\n${whole}`)
  })

  it('what is left of a request never stands before the next one', async () => {
    const upstream = await rawUpstream((socket, request) => {
      if (!request.startsWith('POST')) return void socket.write(OK)
      socket.pause()
      socket.write('HTTP/1.1 413 Payload Too Large\r\nContent-Length: 2\r\n\r\nno')
    })
    const gateway = await gatewayTo(upstream.url, { readBody: true, maxConnections: 1 })
    const body = 'x'.repeat(15_000_000)
    const first = await exchangeRaw(
      gateway.port,
      `POST / HTTP/1.1\r\nHost: x\r\n${CLOSE}Content-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(first.text).toMatch(/^HTTP\/1\.1 413/)
    expect((await exchangeRaw(gateway.port, get('/next', CLOSE))).text).toMatch(/me$/)
    expect(upstream.sockets).toHaveLength(2)
  })

  it('what is left of a request leaves in few writes, however small the chunks it came in', async () => {
    let pieces = 0
    const upstream = await rawUpstream(() => {})
    const gateway = await gatewayTo(upstream.url)
    const chunks = '1\r\n~\r\n'.repeat(20_000)
    const client = rawClient(gateway.port, `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`)
    await until(() => upstream.sockets.length === 1)
    upstream.sockets[0]?.on('data', () => pieces++)
    client.socket.write(`${chunks}0\r\n\r\n`)
    await until(() => upstream.received[0]?.endsWith('0\r\n\r\n') === true)
    expect(upstream.received[0]?.match(/~/g)).toHaveLength(20_000)
    expect(upstream.received[0]?.length).toBeLessThan(40_000)
    expect(pieces).toBeLessThan(200)
    upstream.sockets[0]?.write(OK)
    await client.until('me')
  })
})
