import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { FailuresResponse, QuotaResponse } from '../../src/contract/api.ts'
import { NOTHING, type Tally } from '../../src/failures/histogram.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** What moves the adaptive factor, and who. */

let folder: string
let upstream: Upstream
let app: RunningApp
let hand: Store
let agent: Agent
beforeEach(async () => {
  folder = tempFolder()
  upstream = await startUpstream(({ url }, res) => res.writeHead(url.startsWith('/fail') ? 500 : 200).end())
  app = await startApp(text())
  hand = closedAtEnd(openSqliteStore({ file: join(folder, 'quota.db') }))
  agent = new Agent({ connections: 20 })
})
afterEach(async () => {
  await agent.close()
})

function text(more = ''): string {
  const routes = `
quota: { mode: adaptive, baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 100000 } } } }
routes:
  - { match: GET /fine, category: read }
  - { match: GET /fail, category: read }
  - { match: GET /fail/aside, category: read, health: false }
  - { match: GET /fail/free, category: read, cost: 0 }
  - { match: GET /fail/open, public: true }
  - { match: GET /open, public: true }
  - { match: GET /fail/probe, public: true, health: true }
  ${more}`
  return yaml(upstream.url, routes, `sqlite:${join(folder, 'quota.db')}`)
}

async function ask(path: string, times: number, headers: (i: number) => Record<string, string>): Promise<void> {
  const all = Array.from({ length: times }, async (_, i) => {
    const response = await fetch(app.url + path, { headers: headers(i), dispatcher: agent })
    await response.arrayBuffer()
    expect(response.status).toBe(path.startsWith('/fail') ? 500 : 200)
  })
  await Promise.all(all)
}
const nobody = (): Record<string, string> => ({})

/** The last 30 minutes, once so many requests are in them. */
async function tallied(total: number): Promise<Tally> {
  const sum = async (): Promise<Tally> => {
    const { buckets } = await hand.readTallies()
    return buckets.reduce<Tally>((all, each) => {
      const keys = Object.keys(NOTHING) as (keyof Tally)[]
      return Object.fromEntries(keys.map((key) => [key, all[key] + each[key]])) as unknown as Tally
    }, NOTHING)
  }
  await expect.poll(async () => (await sum()).total, { timeout: 20_000 }).toBe(total)
  return sum()
}

async function admin<T>(path: string): Promise<T> {
  const response = await fetch(app.admin + path, { headers: { authorization: 'Bearer test-admin-token-0001' } })
  return (await response.json()) as T
}
const told = async () => {
  const { factor, adaptive, effective } = await admin<QuotaResponse>('/api/quota')
  return { factor, requests: adaptive.requests, failed: adaptive.failed, limit: effective.personal.read?.['1h'] }
}
/** Those of a user who has sent nothing but this. */
const limit = async (): Promise<number | undefined> => {
  const response = await fetch(`${app.url}/me/quota`, { headers: bearer('carol') })
  return ((await response.json()) as { windows: { read: { limit: number }[] } }).windows.read[0]?.limit
}

it('the adaptive factor is not moved by requests that are not charged, which the histogram has all the same', async () => {
  await ask('/fine', 300, (i) => bearer(`user ${i}`))
  await tallied(300)
  await app.reload(text())
  const before = await told()
  expect(before).toMatchObject({ factor: expect.any(Number), failed: 0 })
  await ask('/open', 300, nobody)
  await ask('/fail/open', 60, nobody)
  await ask('/fail/free', 60, (i) => bearer(`user ${i}`))
  await ask('/fail/aside', 60, (i) => bearer(`user ${i}`))
  expect(await tallied(780)).toMatchObject({ status5xx: 180, asideFailed: 180 })
  await app.reload(text())
  expect(await told()).toEqual(before)
  expect(await limit()).toBe(before.limit)
  const { buckets } = await admin<FailuresResponse>('/api/failures')
  expect(buckets.reduce((sum, { status5xx }) => sum + status5xx, 0)).toBe(180)
})

it('the adaptive factor hears no failure of one user alone, and of all that costs nothing half as many as others have', async () => {
  await ask('/fine', 400, (i) => bearer(`user ${i}`))
  await ask('/fail', 300, () => bearer('mallory'))
  await ask('/fail/probe', 300, nobody)
  const { aside, asideFailed, status5xx } = await tallied(1000)
  expect(status5xx).toBe(600)
  // Mallory is heard three times, for nothing. That would be enough for one failure of the other, which is heard three times too.
  expect(status5xx - asideFailed).toBe(1)
  expect(1000 - aside).toBeGreaterThan(300)
})

it('the adaptive factor is not moved by one user whose requests all fail, beside seventy whose requests do not', async () => {
  for (let user = 0; user < 70; user++) await ask('/fine', 10, () => bearer(`user ${user}`))
  await tallied(700)
  await app.reload(text())
  expect((await told()).factor).toBe(1.5)
  await ask('/fail', 60, () => bearer('mallory'))
  await tallied(760)
  await app.reload(text())
  expect(await told()).toMatchObject({ factor: 1.5, failed: 0 })
})

it('the adaptive factor stays where it was while one user fails as often as he can', async () => {
  for (const half of [1, 2, 3]) await hand.addTally({ ...NOTHING, total: 400 }, half * 1_800_000)
  await ask('/fine', 400, (i) => bearer(`user ${i}`))
  await tallied(1600)
  await app.reload(text())
  expect(await limit()).toBe(1500)
  await ask('/fail', 500, () => bearer('mallory'))
  await tallied(2100)
  await app.reload(text())
  expect([await limit(), (await told()).factor]).toEqual([1500, 1.5])
})

it('the adaptive factor follows failures that many users meet', async () => {
  await ask('/fail', 400, (i) => bearer(`user ${i}`))
  await tallied(400)
  await app.reload(text())
  expect([await limit(), await told()]).toMatchObject([750, { factor: 0.75, limit: 750 }])
})

it('the adaptive factor that the admin API tells is the one in force, whatever was counted since it was drawn', async () => {
  await hand.addTally({ ...NOTHING, total: 10_000, status5xx: 10_000 })
  const seen: { before: unknown; said: unknown; after: unknown }[] = []
  await expect
    .poll(
      async () => {
        const before = await limit()
        const { limit: said } = await told()
        seen.push({ before, said, after: await limit() })
        return before
      },
      { timeout: 30_000, interval: 100 },
    )
    .toBe(750)
  // Drawn anew between the two, it may be either.
  expect(seen.filter(({ before, said, after }) => said !== before && said !== after)).toEqual([])
  expect(seen[0]?.before).toBe(1000)
})
