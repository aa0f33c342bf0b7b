import { request } from 'node:http'
import { beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Long heads that are refused count against their address (test/gateway/long-heads.test.ts); those that are served do not. */

let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startUpstream()
  app = await startApp(
    yaml(
      upstream.url,
      `routes:
  - { match: GET /items/*, category: read, cost: 1 }
  - { match: GET /open/*, public: true }`,
    ),
  )
})

const LONG = `q=${'a'.repeat(7000)}`

function ask(path: string, from: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${app.url}${path}`, { headers, localAddress: from, agent: false }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode ?? 0))
    })
    sent.on('error', reject).end()
  })
}

/** Many at once. @returns how many got each status */
async function flood(count: number, path: string, from: string, headers: Record<string, string> = {}) {
  const statuses = new Map<number, number>()
  for (let i = 0; i < count; i += 50) {
    const some = await Promise.all(Array.from({ length: 50 }, () => ask(path, from, headers)))
    for (const status of some) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  return statuses
}

it('lets any number of long heads pass that are served, with a credential or on a public route', async () => {
  const served = await flood(1100, `/items/1?${LONG}`, '127.0.0.23', bearer('alice'))
  expect([...served.keys()].sort()).toEqual([200, 429])
  expect([...(await flood(1100, `/open/1?${LONG}`, '127.0.0.24')).keys()]).toEqual([200])
  expect(await ask(`/nothing?${LONG}`, '127.0.0.23')).toBe(404)
  expect(await ask(`/nothing?${LONG}`, '127.0.0.24')).toBe(404)
}, 60_000)
