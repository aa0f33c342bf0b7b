import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'
import { type Collector, startCollector } from './collector.ts'
import { startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

let folder: string
let upstream: Upstream
let gateway: GatewayProcess
let url: string
let admin: string
beforeEach(async () => {
  folder = tempFolder()
  upstream = await startUpstream()
})

async function start(collector: Collector, more = ''): Promise<void> {
  const [port, adminPort] = await Promise.all([freePort(), freePort()])
  url = `http://127.0.0.1:${port}`
  admin = `http://127.0.0.1:${adminPort}`
  const routes = 'routes: [{ match: GET /items, category: read, cost: 2 }]'
  const text = yaml(
    upstream.url,
    `${routes}\ntelemetry: { otlp: "${collector.url}" }\n${more}`,
    `sqlite:${folder}/q.db`,
  )
    .replace('listen: 127.0.0.1:0', `listen: 127.0.0.1:${port}`)
    .replace('"127.0.0.1:0"', `127.0.0.1:${adminPort}`)
    .replace('level: fatal, requests: none', 'requests: all')
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, text)
  gateway = await spawnGateway(file, url)
}

async function ask(times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const response = await fetch(`${url}/items`, { headers: { ...bearer('alice'), connection: 'close' } })
    expect(response.status).toBe(200)
  }
}

const logged = () => gateway.lines().filter(({ msg, route }) => msg === 'request' && route !== null)

it('workers send a span for each of their requests, whose ids are in the log and at the upstream', async () => {
  const collector = await startCollector()
  await start(collector, 'workers: 2')
  await ask(20)
  await expect.poll(() => collector.spans.filter(({ name }) => name === 'GET /items').length).toBe(20)
  await expect.poll(() => logged().length).toBe(20)
  const ids = collector.spans
    .filter(({ name }) => name === 'GET /items')
    .map(({ traceId, spanId }) => [traceId, spanId])
  const sorted = (pairs: unknown[]): string[] => pairs.map(String).sort()
  expect(sorted(logged().map(({ traceId, spanId }) => [traceId, spanId]))).toEqual(sorted(ids))
  expect(sorted(upstream.seen.map(({ headers }) => String(headers.traceparent).split('-').slice(1, 3)))).toEqual(
    sorted(ids),
  )
  // The first request of the test asked whether the gateway listens.
  await expect
    .poll(
      async () =>
        (await (await fetch(`${admin}/metrics`)).text()).match(/^tollgate_spans_total\{outcome="sent"\} (\d+)$/m)?.[1],
    )
    .toMatch(/^2[0-9]$/)
})

it('a collector that never answers is in the log once, and the gateway ends all the same', async () => {
  const silent = await startCollector(() => {})
  await start(silent)
  await ask(3)
  await expect.poll(() => silent.requests.length).toBeGreaterThan(0)
  expect(await gateway.end('SIGTERM')).toBe(0)
  const lines = gateway.lines().filter(({ msg }) => String(msg).startsWith('spans are dropped'))
  expect(lines).toMatchObject([{ level: 40, detail: 'the gateway stops' }])
})
