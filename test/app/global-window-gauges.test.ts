import { describe, expect, it } from 'vitest'
import { globalWindowGauges } from '../../src/app/global-window-gauges.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { WindowStatus } from '../../src/quota/status.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'

const status = (window: string, limit: number, used: number): WindowStatus => {
  return { scope: 'Global', window, limit, used, remaining: limit - used, startedAt: null, resetAt: null }
}

it('the gauges of the global windows ask the store once for a scrape, and again for the next one', async () => {
  let asked = 0
  const read = async () => ({ read: [status('1h', 100, ++asked)] })
  const metrics = createMetrics({ version: '1', gauges: globalWindowGauges(read) })
  const { value } = parseMetrics(await metrics.render())
  expect([asked, value('tollgate_global_limit_tokens{category="read",window="1h"}')]).toEqual([1, 100])
  const next = parseMetrics(await metrics.render())
  expect([asked, next.value('tollgate_global_used_tokens{category="read",window="1h"}')]).toEqual([2, 2])
})

it('the gauges of the global windows are left out while the store is out, and come back with it', async () => {
  let out = true
  const read = async () => {
    if (out) throw new Error('out')
    return { read: [status('1h', 100, 1)] }
  }
  const metrics = createMetrics({ version: '1', gauges: globalWindowGauges(read) })
  const seen = async () =>
    [...parseMetrics(await metrics.render()).samples.keys()].filter((key) => /_global_/.test(key))
  expect(await seen()).toEqual([])
  out = false
  expect(await seen()).toHaveLength(2)
})

describe('a gateway', () => {
  let app: RunningApp
  let upstream: Upstream

  async function start(global = 'enabled: true'): Promise<void> {
    upstream = await startUpstream()
    const limits = (limit: number) => `{ read: { 1h: ${limit} } }`
    app = await startApp(
      yaml(
        upstream.url,
        `quota: { global: { ${global} }, baselines: { personal: ${limits(3)}, global: ${limits(5)} } }
routes: [{ match: GET /items/*, category: read }]`,
      ),
    )
  }
  const get = async (user: string) => (await fetch(`${app.url}/items/1`, { headers: bearer(user) })).status
  const scrape = async () => parseMetrics(await (await fetch(`${app.admin}/metrics`)).text())

  it('a gateway shows the global limit in force and what is used of it', async () => {
    await start('multiplier: 2')
    expect([await get('alice'), await get('bob')]).toEqual([200, 200])
    const { value } = await scrape()
    expect(value('tollgate_global_limit_tokens{category="read",window="1h"}')).toBe(10)
    expect(value('tollgate_global_used_tokens{category="read",window="1h"}')).toBe(2)
  })

  it('a gateway shows none if the global scope is switched off', async () => {
    await start('enabled: false')
    expect(await get('alice')).toBe(200)
    expect([...(await scrape()).samples.keys()].filter((key) => key.includes('_global_'))).toEqual([])
  })

  it('a gateway counts refusals by the scope that the response names', async () => {
    await start()
    for (let i = 0; i < 3; i++) expect(await get('alice')).toBe(200)
    expect(await get('alice')).toBe(429)
    for (let i = 0; i < 2; i++) expect(await get('bob')).toBe(200)
    expect([await get('bob'), await get('carol')]).toEqual([429, 429])
    const { value } = await scrape()
    expect(value('tollgate_quota_refusals_total{category="read",scope="personal"}')).toBe(1)
    expect(value('tollgate_quota_refusals_total{category="read",scope="global"}')).toBe(2)
  })
})
