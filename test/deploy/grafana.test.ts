import { beforeAll, describe, expect, it } from 'vitest'
import { STATUS_OF } from '../../src/errors.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { alerts, dashboards, listed, namesIn, queries, recordings, ruleCases, rules, sections } from './monitoring.ts'

describe('names that rules and dashboards read', () => {
  let upstream: Upstream
  let app: RunningApp
  beforeAll(async () => {
    upstream = await startUpstream()
    app = await startApp(yaml(upstream.url, ''))
  })

  /** Only the primary of several workers has it; test/deploy/prometheus.test.ts starts one. */
  const OF_WORKERS = ['tollgate_workers']
  const OF_PROMETHEUS = ['up']

  it('names that rules and dashboards read are exported by a started gateway, or recorded by a rule', async () => {
    const { types } = parseMetrics(await (await fetch(`${app.admin}/metrics`)).text())
    const parts = (name: string, type: string) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]
    const known = new Set([
      ...[...types].flatMap(([name, type]) => parts(name, type)),
      ...recordings.map(({ record }) => record),
      ...OF_WORKERS,
      ...OF_PROMETHEUS,
    ])
    const read = [...rules.map(({ expr }) => expr), ...queries.map(({ expr }) => expr)].flatMap(namesIn)
    expect(read.length).toBeGreaterThan(100)
    expect([...new Set(read)].filter((name) => !known.has(name))).toEqual([])
  })

  it('names that rules and dashboards read are all that the gateway exports, but for these', async () => {
    const { types } = parseMetrics(await createMetrics({ version: '1' }).render())
    const read = [...rules.map(({ expr }) => expr), ...queries.map(({ expr }) => expr)].flatMap(namesIn).join(' ')
    const own = [...types.keys()].filter((name) => name.startsWith('tollgate_'))
    expect(own.filter((name) => !read.includes(name))).toEqual([])
  })
})

const OURS = Object.keys(STATUS_OF).filter((code) => STATUS_OF[code as keyof typeof STATUS_OF] >= 500)

const OF_CLIENTS = ['not_implemented', 'version_not_supported']

it('rules count every 5xx of the gateway, but for 501 and 505, which are the client’s', () => {
  const counted = recordings.filter(({ record }) => record?.startsWith('quota:request_errors:'))
  expect(counted).toHaveLength(7)
  for (const { expr } of counted) {
    const codes = /error=~"([^"]+)"/.exec(expr)?.[1]?.split('|') ?? []
    expect(codes.sort()).toEqual(OURS.filter((code) => !OF_CLIENTS.includes(code)).sort())
  }
})

it('rules say the same for each window', () => {
  const shape = (name: string) =>
    recordings
      .filter(({ record }) => record?.startsWith(`${name}:rate`))
      .map(({ record = '', expr }) => expr.replaceAll(record.slice(record.lastIndexOf('rate') + 4), 'W'))
  for (const name of ['quota:requests', 'quota:request_errors', 'quota:request_error_ratio']) {
    expect(shape(name)).toHaveLength(7)
    expect(new Set(shape(name)).size, name).toBe(1)
  }
})

it('rules have what whoever is called needs: severity, summary, description, runbook', () => {
  for (const { alert = '', labels, annotations } of alerts) {
    expect(alert).toMatch(/^Tollgate[A-Z]/)
    expect(labels?.severity, alert).toMatch(/^(page|ticket)$/)
    expect(annotations?.summary?.length, alert).toBeGreaterThan(10)
    expect(annotations?.description?.length, alert).toBeGreaterThan(40)
    expect(annotations?.runbook, alert).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
  }
})

it('rules have a unit test where each alert fires, and one where it does not', () => {
  const names = [...new Set(alerts.map(({ alert }) => alert))].sort()
  const cases = (fires: boolean) =>
    [...new Set(ruleCases.filter((c) => c.exp_alerts.length > 0 === fires).map((c) => c.alertname))].sort()
  expect(cases(true)).toEqual(names)
  expect(cases(false)).toEqual(names)
})

it('rules and the runbook have the same alerts', () => {
  expect([...sections].sort()).toEqual([...new Set(alerts.map(({ alert }) => alert))].sort())
})

it('rules stand in the table of the runbook, each with its severity', () => {
  const severities = new Map(alerts.map(({ alert, labels }) => [alert, labels?.severity]))
  expect(listed).toEqual([...severities])
})

it('dashboards have a fixed uid, no absolute time, and take everything from the chosen data source', () => {
  expect(dashboards.map(({ uid }) => uid)).toEqual(['tollgate-operations', 'tollgate-quotas'])
  for (const dashboard of dashboards) {
    expect(dashboard.time.from).toMatch(/^now-\d+h$/)
    expect(dashboard.time.to).toBe('now')
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'namespace', 'job', 'instance'])
    const uids = [...JSON.stringify(dashboard).matchAll(/"datasource":\{"type":"prometheus","uid":"([^"]+)"\}/g)]
    expect(uids.length).toBeGreaterThan(30)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the variable is Grafana's
    expect(new Set(uids.map(([, uid]) => uid))).toEqual(new Set(['${datasource}']))
  }
})

it('dashboards have panels with title, description, unit and query, that do not overlap', () => {
  for (const { title, panels } of dashboards) {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Set<string>()
    for (const { type, title: name, description, fieldConfig, targets, gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), `${title}: ${name} overlaps`).toBe(false)
          taken.add(`${x},${y}`)
        }
      }
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      if (type === 'row') continue
      expect(description?.length, name).toBeGreaterThan(5)
      expect(fieldConfig?.defaults.unit, name).toBeDefined()
      expect(targets?.length, name).toBeGreaterThan(0)
    }
  }
})

it('dashboards use $__rate_interval in every rate, and select by job in every query', () => {
  for (const { place, expr } of queries) {
    for (const [, range] of expr.matchAll(/\[([^\]]+)\]/g)) expect(range, place).toBe('$__rate_interval')
    expect(expr.match(/\{/g)?.length, place).toBe(expr.match(/job=~"\$job"/g)?.length)
  }
})
