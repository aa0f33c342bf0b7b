import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { createUploadWatch, type UploadRule, type UploadWatch } from '../../../src/edge/body/slow-upload.ts'
import { joinShortPieces } from '../../../src/node/short-pieces.ts'
import { listening } from '../../setup/listening.ts'

const LENGTH = 10_000_000

let watch: UploadWatch
let server: http.Server
let client: net.Socket
afterEach(() => {
  watch.stop()
  client.destroy()
})

const HEAD = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${LENGTH}\r\n\r\n`

/** A client that has begun a long upload, which somebody reads. @returns how often each that comes is found too slow */
async function upload(rule: UploadRule, head = HEAD): Promise<readonly number[]> {
  const found: number[] = []
  watch = createUploadWatch(() => rule)
  server = http.createServer((req) => {
    const place = found.push(0) - 1
    watch.watch(req, joinShortPieces(req), () => {
      found[place] = (found[place] ?? 0) + 1
    })
    req.resume()
  })
  client = net.connect(await listening(server), '127.0.0.1')
  client.write(head)
  await once(server, 'request')
  return found
}

it('who has sent much at once has no more patience than anybody when it stalls then', async () => {
  const found = await upload({ minRate: 1, graceMs: 300 })
  client.write(Buffer.alloc(1_000_000))
  await expect.poll(() => found).toEqual([1])
})

it('who is too slow is told so once, also where the connection does not end at once', async () => {
  const found = await upload({ minRate: 1, graceMs: 300 })
  await expect.poll(() => found).toEqual([1])
  const next = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  next.write(HEAD)
  await expect.poll(() => found[1]).toBe(1)
  expect(found[0]).toBe(1)
  next.destroy()
})

it('an upload is not found too slow for a while in which nobody could read what it had sent', async () => {
  const found = await upload({ minRate: 100_000, graceMs: 1000 })
  client.write(Buffer.alloc(1_000_000))
  const until = performance.now() + 3000
  while (performance.now() < until);
  await sleep(300)
  expect(found).toEqual([0])
})

const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

it('who sends a chunk extension and nothing of the body is too slow, however fast it comes', async () => {
  const found = await upload({ minRate: 100, graceMs: 300 }, CHUNKED)
  client.write('1;')
  const sending = setInterval(() => client.write('a'.repeat(100)), 20)
  await expect.poll(() => found).toEqual([1])
  clearInterval(sending)
})

it('who sends chunks as fast as the rule asks is not too slow', async () => {
  const found = await upload({ minRate: 100, graceMs: 300 }, CHUNKED)
  for (let i = 0; i < 50; i++) {
    client.write(`64\r\n${'a'.repeat(100)}\r\n`)
    await sleep(20)
  }
  expect(found).toEqual([0])
})
