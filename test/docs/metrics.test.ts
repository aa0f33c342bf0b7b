import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { spawnGateway } from '../e2e/process.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'

/** `docs/reference/metrics.md` has a section for each metric of ours, with its labels, and none for what is no metric. */

let folder: string
let upstream: Upstream
let metrics: ReturnType<typeof parseMetrics>
beforeAll(async () => {
  folder = tempFolder()
  upstream = await startUpstream()
  const [port, admin] = await Promise.all([freePort(), freePort()])
  const file = join(folder, 'tollgate.yaml')
  const text = yaml(
    upstream.url,
    'workers: 2\nunmatched: { category: read, cost: 1 }\n',
    `sqlite:${join(folder, 'quota.db')}`,
  )
  writeFileSync(file, withPorts(text, port, admin))
  await spawnGateway(file, `http://127.0.0.1:${port}/`)
  expect((await fetch(`http://127.0.0.1:${port}/`, { headers: bearer('alice') })).status).toBe(200)
  // Workers report once a second.
  await vi.waitFor(async () => {
    metrics = parseMetrics(await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text())
    expect([...metrics.samples.keys()].join()).toContain('tollgate_tokens_charged_total{')
  }, 30_000)
}, 120_000)

function withPorts(text: string, port: number, admin: number): string {
  return text.replace('listen: 127.0.0.1:0', `listen: 127.0.0.1:${port}`).replace('"127.0.0.1:0"', `127.0.0.1:${admin}`)
}

/** Of the headings: names, and the labels that are listed below. */
function described(): Map<string, string[]> {
  const sections = readFileSync('docs/reference/metrics.md', 'utf8')
    .split(/^### (?=`tollgate_)/m)
    .slice(1)
  return new Map(
    sections.map((section) => {
      const [, name = ''] = /^`(\w+)`$/m.exec(section) ?? []
      return [name, [...section.matchAll(/^- `(\w+)`: /gm)].map(([, label = '']) => label)]
    }),
  )
}

test('every metric has a section in the reference, and every section a metric', () => {
  const ours = [...metrics.types.keys()].filter((name) => name.startsWith('tollgate_'))
  expect(ours.length).toBeGreaterThan(30)
  expect([...described().keys()].sort()).toEqual(ours.sort())
})

test('the sections of the reference name the labels that the series have', () => {
  const rows = described()
  for (const sample of metrics.samples.keys()) {
    const [, series = '', labels = ''] = /^(tollgate_\w+)(?:\{(.*)\})?$/.exec(sample) ?? []
    const name = series.replace(/_(?:bucket|sum|count)$/, '')
    const row = rows.get(rows.has(series) ? series : name)
    if (row === undefined) continue
    const has = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le')
    expect(has.sort(), sample).toEqual([...row].sort())
  }
})
