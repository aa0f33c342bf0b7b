import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { createUploadWatch, type UploadRule, type UploadWatch } from '../../src/gateway/uploads.ts'

const LENGTH = 10_000_000

let watch: UploadWatch
let server: http.Server
let client: net.Socket
afterEach(() => {
  watch.stop()
  client.destroy()
  server.closeAllConnections()
  server.close()
})

/** A client that has begun a long upload, which somebody reads. @returns how often it was found too slow */
async function upload(rule: UploadRule): Promise<{ tooSlow: number }> {
  const found = { tooSlow: 0 }
  watch = createUploadWatch(() => rule)
  server = http.createServer((req) => {
    watch.watch(req, () => found.tooSlow++)
    req.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${LENGTH}\r\n\r\n`)
  await once(server, 'request')
  return found
}

it('who has sent much at once has no more patience than anybody when it stalls then', async () => {
  const found = await upload({ minRate: 1, graceMs: 300 })
  client.write(Buffer.alloc(1_000_000))
  await expect.poll(() => found.tooSlow).toBe(1)
})

it('is not found too slow for a while in which nobody could read what it had sent', async () => {
  const found = await upload({ minRate: 100_000, graceMs: 1000 })
  client.write(Buffer.alloc(1_000_000))
  const until = performance.now() + 3000
  while (performance.now() < until);
  await sleep(300)
  expect(found.tooSlow).toBe(0)
})
