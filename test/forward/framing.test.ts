import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { assertNoSurprises, type GatewayOptions, gatewayTo, OK, overEachWay, rawClient, until } from './support.ts'

assertNoSurprises()

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
const chunk = (length: number): string => `${length.toString(16)}\r\n${'a'.repeat(length)}\r\n`

overEachWay(({ rawUpstream, httpUpstream }) => {
  /** The framing of one request whose bytes come in such pieces, and how much of a body the upstream got. */
  async function framingOf(pieces: readonly string[], options: GatewayOptions = {}) {
    let framing = ''
    const upstream = await rawUpstream((socket, head) => {
      framing = /^(content-length: \d+|transfer-encoding: .*)$/im.exec(head)?.[1] ?? 'none'
      socket.write(OK)
    })
    const gateway = await gatewayTo(upstream.url, options)
    const client = rawClient(gateway.port)
    for (const piece of pieces) {
      client.socket.write(piece)
      await sleep(20)
    }
    await client.until('ok')
    await until(() => gateway.results.length === 1)
    client.socket.destroy()
    return framing.toLowerCase()
  }

  it.each([
    ['at once', [`${HEAD}${chunk(5)}0\r\n\r\n`]],
    ['behind its head', [HEAD, `${chunk(5)}0\r\n\r\n`]],
    ['without its last chunk', [HEAD + chunk(5), '0\r\n\r\n']],
    ['in single bytes', [HEAD, ...`${chunk(5)}0\r\n\r\n`]],
  ])('a short body in chunks that comes %s has its length', async (_what, pieces) => {
    expect(await framingOf(pieces)).toBe('content-length: 5')
  })

  it('a body in chunks has its length up to the bound, and stays in chunks beyond it, whatever the packets', async () => {
    for (const [length, framing] of [
      [0, 'content-length: 0'],
      [65_536, 'content-length: 65536'],
      [65_537, 'transfer-encoding: chunked'],
    ] as const) {
      const body = `${length > 30_000 ? chunk(30_000) + chunk(length - 30_000) : ''}0\r\n\r\n`
      expect(await framingOf([HEAD + body])).toBe(framing)
      expect(await framingOf([HEAD, body.slice(0, 20_000), body.slice(20_000, -5), body.slice(-5)])).toBe(framing)
    }
  })

  it('with a bound of 0 each body in chunks stays in chunks', async () => {
    for (const pieces of [[`${HEAD}${chunk(5)}0\r\n\r\n`], [HEAD, `${chunk(5)}0\r\n\r\n`]]) {
      expect(await framingOf(pieces, { unchunk: 0 })).toBe('transfer-encoding: chunked')
    }
  })

  it('a body that turns out to be long arrives whole, from its beginning', async () => {
    let received = ''
    const upstream = await httpUpstream(async (req, res) => {
      received = Buffer.concat(await req.toArray()).toString()
      res.end('ok')
    })
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, HEAD)
    const letters = 'abcdefghij'.repeat(2_000)
    for (let i = 0; i < 10; i++) {
      client.socket.write(`${letters.length.toString(16)}\r\n${letters}\r\n`)
      await sleep(5)
    }
    client.socket.write('0\r\n\r\n')
    await client.until('ok')
    expect(received).toBe(letters.repeat(10))
  })

  it('a client that leaves before its short body is whole has reached nobody', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, HEAD + chunk(5))
    await sleep(100)
    client.socket.destroy()
    expect(await gateway.settled()).toMatchObject({ outcome: 'aborted', reached: false })
    expect(upstream.sockets).toHaveLength(0)
  })
})
