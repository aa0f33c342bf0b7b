import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { readLogs } from '../../src/replay/read-logs.ts'
import { replay } from '../../src/replay/replay.ts'
import { suggestFrom } from '../../src/suggest/suggest.ts'
import { tempFolder } from '../setup/at-end.ts'
import { combinedLine, envoyLine, hourOf, ownLine, type Request } from './traffic.ts'

/** An hour of 300 users, by the commands as a reader runs them. */

const folder = tempFolder()

const HOUR = hourOf(300, 6000)

/** What `check` says of it as long as the file refuses nobody. */
const OPEN = /^\S+ auth\.shadow: warning: lets everybody in: .*\n$/

/** @returns what a command printed that had nothing to complain about, but for what the file lets through on purpose */
async function tollgate(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../src/main.ts'), ...args], {
    // The store of the file is beside nothing else.
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  expect({ code, err: err.replace(OPEN, '') }).toEqual({ code: 0, err: '' })
  return out
}

/** What the comments say: in the head of all requests, and beside each limit of those of its category. */
function foretold(yaml: string) {
  const [, refused, requests, users] =
    /would have refused (\d+) of (\d+) requests \([\d.]+ %\), (\d+) of \d+ users/.exec(yaml) ?? []
  const limits: Record<string, number> = {}
  let [scope, category] = ['', '']
  for (const line of yaml.split('\n')) {
    scope = /^ {4}(\w+):$/.exec(line)?.[1] ?? scope
    category = /^ {6}(\w+):$/.exec(line)?.[1] ?? category
    const [, window, count] = /^ {8}(\w+): \d+ # .*would have refused (\d+) of/.exec(line) ?? []
    if (window !== undefined && count !== '0') limits[`${scope} ${category} ${window}`] = Number(count)
  }
  return { refused: Number(refused), requests: Number(requests), users: Number(users), limits }
}

const MARGIN = { percentile: 97, headroom: 1.2 }

test('the file for an hour of 300 users passes check with one warning, of its shadow, and replay refuses under it what it says', async () => {
  const log = join(folder, 'access.log')
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(log, HOUR.map(combinedLine).join('\n'))
  const margin = ['--percentile', `${MARGIN.percentile}`, '--headroom', `${MARGIN.headroom}`]
  const yaml = await tollgate('suggest', '--log', log, '--upstream', 'http://127.0.0.1:3000', ...margin)
  writeFileSync(file, yaml)
  const [checked, report] = await Promise.all([
    tollgate('check', '-c', file),
    tollgate('replay', '-c', file, '--log', log, '--json'),
  ])
  expect(checked).toContain(': ok (')
  const said = foretold(yaml)
  const { total, users, limits, uncharged } = JSON.parse(report)
  expect(said.refused).toBeGreaterThan(20)
  expect(said).toEqual({
    refused: total.refused + total.shadowed,
    requests: total.requests,
    users: users.length,
    limits: Object.fromEntries(limits.map((each: { limit: string; refused: number }) => [each.limit, each.refused])),
  })
  expect({ requests: total.requests, uncharged }).toEqual({ requests: HOUR.length, uncharged: {} })
})

const suggested = async (lineOf: (request: Request) => string) => {
  const log = join(folder, `${Math.random()}.log`)
  writeFileSync(log, HOUR.map(lineOf).join('\n'))
  const logs = await readLogs([log], { format: 'auto', from: 0, to: Number.POSITIVE_INFINITY })
  const yaml = await suggestFrom(logs, { ...MARGIN, upstream: null, names: 32, key: null })
  const loaded = parseConfig(yaml, 'tollgate.yaml', {})
  if (!loaded.ok) throw new Error(yaml)
  const report = await replay(loaded.config, logs.journal)
  return { yaml, config: loaded.config, report }
}

test.each([
  ['Envoy', envoyLine],
  ['a gateway', ownLine],
])(
  'the file for the same hour by the log of %s agrees with the replay, and a slow route costs more',
  async (_name, lineOf) => {
    const { yaml, config, report } = await suggested(lineOf)
    const said = foretold(yaml)
    expect(said.refused).toBeGreaterThan(20)
    expect(said).toMatchObject({
      refused: report.total.refused + report.total.shadowed,
      requests: report.total.requests,
    })
    expect(said.limits).toEqual(Object.fromEntries(report.windows))
    const costs = Object.fromEntries(
      config.routes.map((route) => [route.match, !route.public && route.cost.kind === 'fixed' && route.cost.cost]),
    )
    expect(costs).toMatchObject({ 'GET /search': 9, 'GET /users/:id': 1, 'POST /users/:id/orders': 2 })
  },
)

test('the file for the same hour has limits that no exempt caller and no free repetition raises', async () => {
  const { config } = await suggested(ownLine)
  const of = (request: Request, more: object) => JSON.stringify({ ...JSON.parse(ownLine(request)), ...more })
  const [one] = HOUR
  if (one === undefined) throw new Error('an hour without requests')
  const extras = Array.from({ length: 2000 }, (_, i) => [
    of(one, { user: 'monitor', exempt: 'user', charged: 0 }),
    of(one, { user: `m${i}`, exempt: 'address', charged: 0 }),
    of(one, { replayed: true, charged: 0 }),
  ])
  const log = join(folder, 'extras.log')
  writeFileSync(log, [...HOUR.map(ownLine), ...extras.flat()].join('\n'))
  const logs = await readLogs([log], { format: 'auto', from: 0, to: Number.POSITIVE_INFINITY })
  const loaded = parseConfig(
    await suggestFrom(logs, { ...MARGIN, upstream: null, names: 32, key: null }),
    'tollgate.yaml',
    {},
  )
  expect(loaded.ok && loaded.config.quota.baselines).toEqual(config.quota.baselines)
})

test('the file for the same hour lets callers in as the log names them', async () => {
  expect((await suggested(envoyLine)).config.auth.anonymous).toMatchObject({ ipv4: 32 })
  const { config } = await suggested(combinedLine)
  expect(config.auth.anonymous).toBeNull()
  expect(config.routes.every((route) => !route.public && route.anonymous === true)).toBe(true)
  const ofUsers = (await suggested(ownLine)).config
  expect(ofUsers.routes.some((route) => !route.public && route.anonymous === true)).toBe(false)
})

const requestBy = (user: string | null, route: string) =>
  JSON.stringify({
    time: 1_795_947_014_950,
    user,
    method: route.split(' ')[0],
    route,
    cost: user === null ? 0 : 1,
    outcome: 'forwarded',
    durationMs: 4,
    msg: 'request',
  })

const routesBy = async (...lines: string[]) => {
  const log = join(folder, `${Math.random()}.log`)
  writeFileSync(log, lines.join('\n'))
  const logs = await readLogs([log], { format: 'own', from: 0, to: Number.POSITIVE_INFINITY })
  const yaml = await suggestFrom(logs, { ...MARGIN, upstream: null, names: 32, key: null })
  const uncharged = /^# .* not charged: .*$/m.exec(yaml)?.[0]
  return { routes: yaml.split('\n').filter((line) => line.startsWith('  - { match: ')), uncharged }
}

test('the file by the log of a gateway has its public rules as public ones, and no limit for what they alone have', async () => {
  const found = await routesBy(
    requestBy(null, 'GET /health'),
    requestBy(null, 'GET /pages/:page'),
    requestBy(null, 'POST /hooks/*'),
    requestBy('alice', 'GET /items/:id'),
    requestBy('address:192.0.2.7', 'GET /pages/:page/notes'),
  )
  expect(found).toEqual({
    routes: [
      '  - { match: GET /health, public: true } # as in the log',
      '  - { match: POST /hooks/*, public: true } # as in the log',
      '  - { match: GET /items/:id, category: read, cost: 1 } # 1 request',
      '  - { match: GET /pages/:page, public: true } # as in the log',
      '  - { match: GET /pages/:page/notes, category: read, cost: 1 } # 1 request',
    ],
    uncharged: '# 3 requests are not charged: the route is public, or costs nothing.',
  })
})

test('the file by the log of a gateway charges a rule that was public for a while, and lets in whom it let in', async () => {
  const { routes } = await routesBy(requestBy(null, 'GET /pages'), requestBy('alice', 'GET /pages'))
  expect(routes).toEqual(['  - { match: GET /pages, category: read, cost: 1, anonymous: true } # 1 request'])
})
