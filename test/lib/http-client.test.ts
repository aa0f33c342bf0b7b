import { createServer, type RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { get } from '../../src/lib/http-client.ts'
import { listening } from '../setup/listening.ts'

async function serve(listener: RequestListener): Promise<URL> {
  return new URL(`http://127.0.0.1:${await listening(createServer(listener))}/`)
}

function ask(url: URL, more: { deadlineMs?: number; maxBytes?: number; signal?: AbortSignal } = {}) {
  return get({ url, headers: {}, deadlineMs: 60_000, maxBytes: 2048, signal: new AbortController().signal, ...more })
}

it('the HTTP client gives status, fields and text of a 200', async () => {
  const url = await serve((_, response) => response.setHeader('X-A', 'b').end('ä'))
  const { status, header, text } = await ask(url)
  expect([status, header('x-a'), header('x-none'), text]).toEqual([200, 'b', null, 'ä'])
})

it('the HTTP client counts the bytes of a body after it is decompressed', async () => {
  const url = await serve((request, response) => {
    const size = Number(request.headers.accept)
    response.setHeader('Content-Encoding', 'gzip').end(gzipSync('x'.repeat(size)))
  })
  const sized = (size: number) =>
    get({
      url,
      headers: { accept: `${size}` },
      deadlineMs: 60_000,
      maxBytes: 2048,
      signal: AbortSignal.timeout(60_000),
    })
  expect((await sized(2048)).text).toHaveLength(2048)
  await expect(sized(2049)).rejects.toThrow('answered more than 2 KiB')
})

it('the HTTP client follows no redirect, and reads no body but that of a 200', async () => {
  let asked = 0
  const url = await serve((_, response) => {
    asked++
    response.writeHead(302, { location: '/elsewhere' }).write('x'.repeat(10_000))
  })
  expect(await ask(url)).toMatchObject({ status: 302, text: '' })
  expect(asked).toBe(1)
})

it('the HTTP client has a connection of its own for each request, and says so', async () => {
  const seen: unknown[] = []
  const sockets = new Set<unknown>()
  const url = await serve((request, response) => {
    seen.push(request.headers.connection)
    sockets.add(request.socket)
    response.end()
  })
  for (let i = 0; i < 3; i++) await ask(url)
  expect([seen, sockets.size]).toEqual([['close', 'close', 'close'], 3])
})

it('the HTTP client gives up at its deadline, and when its caller does', async () => {
  const url = await serve((_, response) => response.write('x'))
  await expect(ask(url, { deadlineMs: 100 })).rejects.toThrow('timeout')
  const stop = new AbortController()
  const asked = ask(url, { signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(asked).rejects.toThrow('enough')
})
