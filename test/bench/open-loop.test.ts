import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createOpenLoop, type Latency } from '../../bench/load.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { twoCores } from './two-cores.ts'

const folder = tempFolder()

/** 1000 requests at 1000 a second, by a single connection or many. */
async function latencyOf(listener: RequestListener, connections: number): Promise<Latency> {
  const server = createServer(listener)
  await listening(server)
  const requests = join(folder, 'requests')
  writeFileSync(requests, 'GET /one alice\nGET /two bob\n')
  const { port } = server.address() as AddressInfo
  return await createOpenLoop(folder)({ port, requests, connections, rate: 1000, count: 1000 })
}

/** Of the first requests; the others have 200. */
const STATUSES = [...Array(8).fill(429), 503, 503, 404] as number[]

function stall(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

describe.skipIf(!twoCores)('the generator of a fixed rate', () => {
  test('the generator of a fixed rate sends the requests of its file in turn', async () => {
    const seen: string[] = []
    const result = await latencyOf((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization}`)
      response.end('ok')
    }, 1)
    expect(seen.slice(0, 3)).toEqual(['GET /one Bearer alice', 'GET /two Bearer bob', 'GET /one Bearer alice'])
    expect(result).toMatchObject({ requests: 1000, failed: 0 })
  })

  // Of the requests due in these 300 ms a third waits for 200 ms or more: a tenth of all.
  test.each([1, 64])('a stall is felt by everyone who would have met it, with %i connections', async (connections) => {
    let count = 0
    const result = await latencyOf((_, response) => {
      if (++count === 300) stall(300)
      response.end('ok')
    }, connections)
    expect(result.p90).toBeGreaterThan(100)
    expect(result.p999).toBeGreaterThan(250)
    expect(result.failed).toBe(0)
  })

  test('the generator of a fixed rate answers other than 2xx are counted, and those of 429 apart', async () => {
    let count = 0
    const result = await latencyOf((_, response) => response.writeHead(STATUSES[++count] ?? 200).end(), 4)
    expect(result).toMatchObject({ failed: 10, refused: 7 })
  })
})
