import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SECRET, startUpstream, type Upstream } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { type GatewayProcess, spawnGateway } from '../e2e/process.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { installPrometheus } from '../setup/deploy-apt.ts'
import { listening } from '../setup/listening.ts'
import { type Certificate, makeCa, makeCertificate } from '../setup/openssl.ts'
import { freePort, type RedisServer, startRedis } from '../setup/redis.ts'
import {
  alerts,
  codeBlocks,
  filledIn,
  queries,
  RULE_TESTS,
  RULES_FILE,
  recordings,
  rulesText,
  watched,
} from './monitoring.ts'
import { type Prometheus, promtool, startPrometheus } from './prometheus.ts'

/** Rules and dashboards against what real gateways export, as a real Prometheus sees it. */

beforeAll(() => installPrometheus(), 300_000)

it('promtool finds no fault with the rules', () => {
  const { status, output } = promtool(['check', 'rules', '--lint=all', '--lint-fatal', RULES_FILE])
  expect(output).toContain('SUCCESS')
  expect(status, output).toBe(0)
})

it('promtool sees each alert fire and keep silent as its unit tests say', () => {
  const { status, output } = promtool(['test', 'rules', ...RULE_TESTS])
  expect(status, output).toBe(0)
  expect(output.match(/SUCCESS/g)).toHaveLength(RULE_TESTS.length)
}, 240_000)

it('promtool takes the file of Prometheus that the page of what to watch has', () => {
  const folder = tempFolder()
  const [text = ''] = codeBlocks('yml', watched)
  writeFileSync(join(folder, 'prometheus.yml'), text)
  writeFileSync(join(folder, 'tollgate.yaml'), rulesText)
  const { status, output } = promtool(['check', 'config', join(folder, 'prometheus.yml')])
  rmSync(folder, { recursive: true })
  expect(status, output).toBe(0)
  expect(output).toContain('1 rule files found')
})

describe('with real gateways', () => {
  let folder: string
  let redis: RedisServer
  let upstream: Upstream | null = null
  let keys: http.Server
  /** One with a single process, one with two workers, which share a Redis and differ in their files. */
  let single: Gateway
  let several: Gateway
  /** One with TLS and a certificate that soon ends. */
  let secure: Gateway
  let prometheus: Prometheus
  let traffic: Traffic

  beforeAll(async () => {
    folder = tempFolder()
    redis = await startRedis()
    upstream = await startUpstream(({ url }, res) => {
      if (url.endsWith('/500')) res.writeHead(500).end()
      else if (url.endsWith('/broken')) res.destroy()
      else if (!url.endsWith('/slow')) res.end('ok')
    })
    keys = closedAtEnd(await startKeys())
    const { port } = keys.address() as AddressInfo
    const options = { upstream: upstream.url, store: redis.url, keys: `http://127.0.0.1:${port}/` }
    const tls = makeCertificate(folder, 'gateway', makeCa(folder, 'ca'), 'IP:127.0.0.1')
    ;[single, several, secure] = await Promise.all([
      startGateway(join(folder, 'single.yaml'), { ...options, workers: 1 }),
      startGateway(join(folder, 'several.yaml'), { ...options, workers: 2 }),
      startGateway(join(folder, 'secure.yaml'), { ...options, workers: 1, tls }),
    ])
    prometheus = await startPrometheus({
      targets: [single, several, secure].map(({ admin }) => new URL(admin).host),
      // The long windows are evaluated every 2 minutes, which nobody waits for here.
      rules: rulesText.replace('interval: 2m', 'interval: 1s'),
    })
    traffic = startTraffic([single.url, several.url])
    await makeTrouble()
  }, 120_000)

  afterAll(async () => {
    await traffic?.stop()
    await prometheus?.stop()
  })

  /** Everything that some metric waits for. */
  async function makeTrouble(): Promise<void> {
    await garbage(single.url)
    await prometheus.query('up') // it answers
    await until(async () => (await prometheus.query('sum(up)'))[0]?.value === 3)
    await traffic.rounds(10)
    // A worker that is killed.
    const [line] = several.process.lines().filter(({ msg }) => msg === 'worker started')
    process.kill(Number(line?.pid), 'SIGKILL')
    // A file that is refused.
    appendFileSync(single.file, 'unknown_key: 1\n')
    // A store that is silent, and one that is back.
    process.kill(redis.pid, 'SIGSTOP')
    try {
      await until(async () => (await circuit()) === 1)
      await traffic.rounds(5)
    } finally {
      process.kill(redis.pid, 'SIGCONT')
    }
    await until(async () => (await circuit()) === 0)
    await traffic.rounds(10)
    // An upstream that takes no connections, at last.
    await upstream?.close()
    upstream = null
    await traffic.rounds(10)
  }

  async function circuit(): Promise<number | undefined> {
    const { value } = parseMetrics(await (await fetch(`${single.admin}/metrics`)).text())
    return value('tollgate_store_circuit_open')
  }

  it('promtool finds no fault with the metrics, of one process and of several', async () => {
    for (const { admin } of [single, several]) {
      const text = await (await fetch(`${admin}/metrics`)).text()
      expect(text).toContain('tollgate_requests_total{')
      expect(promtool(['check', 'metrics'], text)).toEqual({ status: 0, output: '' })
    }
  })

  it('the metrics of no gateway name a user, a token or a path', async () => {
    for (const { admin } of [single, several]) {
      const text = await (await fetch(`${admin}/metrics`)).text()
      for (const secret of ['alice', 'user-', 'eyJ', '/items/1', '/nope', 'canary']) expect(text).not.toContain(secret)
      expect(text.split('\n').length).toBeLessThan(1000)
    }
  })

  it('the global windows are those of the store, once and not once for each worker', async () => {
    const limits = await prometheus.query('tollgate_global_limit_tokens{category="read",window="1h"}')
    expect(limits.map(({ value }) => value)).toEqual([60, 60, 60])
  })

  it('Prometheus scrapes all of it and evaluates every rule', async () => {
    const { activeTargets } = (await prometheus.api('targets')) as {
      activeTargets: { health: string; lastError: string }[]
    }
    expect(activeTargets.map(({ health, lastError }) => [health, lastError])).toEqual([
      ['up', ''],
      ['up', ''],
      ['up', ''],
    ])
    const { groups } = (await prometheus.api('rules')) as {
      groups: { rules: { name: string; health: string; lastError?: string }[] }[]
    }
    const all = groups.flatMap((group) => group.rules)
    expect(all).toHaveLength(alerts.length + recordings.length)
    expect(all.filter(({ health }) => health !== 'ok')).toEqual([])
  })

  it('every recorded series has data', async () => {
    for (const { record = '' } of recordings) await hasData(record, record)
  })

  it('every query of the dashboards has data', async () => {
    expect(queries.length).toBeGreaterThan(50)
    for (const { place, expr } of queries) await hasData(place, filledIn(expr))
  })

  it('those alerts are pending, or fire, whose cause was there, and no other', async () => {
    const seen = await prometheus.query('count by (alertname) (count_over_time(ALERTS[15m]))')
    const names = seen.map(({ metric }) => metric.alertname ?? '')
    // Before the first scrape nothing is there; and whether one request in a hundred waited for the store is chance.
    // So is whether a scrape of a busy machine takes a second.
    const byChance = ['TollgateAbsent', 'TollgateDown', 'TollgateOverheadHigh']
    expect(names.filter((name) => !byChance.includes(name)).sort()).toEqual([
      'TollgateCertificateExpires',
      'TollgateConfigDrift',
      'TollgateConfigReloadFailed',
      'TollgateErrorBudgetBurnFast',
      'TollgateErrorBudgetBurnSlow',
      'TollgateGlobalNearlyExhausted',
      'TollgateJwksStale',
      'TollgateStoreDegraded',
      'TollgateUnmatchedRoutes',
      'TollgateWorkersRestarting',
    ])
  })

  describe('the runbook', () => {
    it('the runbook has queries that Prometheus understands, each with data but for those of what never happened', async () => {
      const empty: string[] = []
      const all = codeBlocks('promql').flatMap((text) => text.trim().split('\n'))
      expect(all.length).toBeGreaterThan(12)
      for (const expr of all) if ((await prometheus.query(expr)).length === 0) empty.push(expr)
      // These gateways ask no provider.
      expect(empty.filter((expr) => !expr.includes('tollgate_introspection_'))).toEqual([
        'sum by (instance, where) (increase(tollgate_internal_errors_total[1h]))',
      ])
    })

    it('the page of what to watch has queries that Prometheus understands, each with data', async () => {
      const empty: string[] = []
      const all = codeBlocks('promql', watched).flatMap((text) => text.trim().split('\n'))
      expect(all.length).toBeGreaterThan(12)
      for (const expr of all) if ((await prometheus.query(expr)).length === 0) empty.push(expr)
      expect(empty).toEqual([])
    })

    it('the runbook has commands that work', () => {
      // curl then fails where the answer is an error.
      writeFileSync(join(folder, '.curlrc'), 'fail\n')
      const env = {
        ...process.env,
        CURL_HOME: folder,
        ADMIN: several.admin,
        TOKEN: ADMIN_TOKEN,
        TOLLGATE_STORE_URL: redis.url,
      }
      const blocks = codeBlocks('sh').filter((text) => !text.startsWith('export'))
      expect(blocks.length).toBeGreaterThan(8)
      for (const text of blocks) {
        const output = execFileSync('bash', ['-ec', text], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
        expect(output.length, text).toBeGreaterThan(1)
      }
    })
  })

  it('a gateway that is gone is missed', async () => {
    const expr = alerts.find(({ alert }) => alert === 'TollgateAbsent')?.expr ?? ''
    expect(await prometheus.query(expr)).toEqual([])
    await traffic.stop()
    await Promise.all([single, several, secure].map(endGateway))
    await until(async () => (await prometheus.query(expr)).length === 1)
  })

  /** Rates need two scrapes, so what has just begun is waited for. */
  async function hasData(place: string, expr: string): Promise<void> {
    const answered = async () => (await prometheus.query(expr)).some(({ value }) => !Number.isNaN(value))
    await until(answered, `${place} has no data: ${expr}`)
  }
})

async function until(condition: () => Promise<boolean>, problem = 'waited too long'): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 250) throw new Error(problem)
    await sleep(200)
  }
}

const ADMIN_TOKEN = 'test-admin-token-of-32-characters'

interface Gateway {
  readonly url: string
  readonly admin: string
  readonly file: string
  readonly process: GatewayProcess
}

interface Options {
  readonly upstream: string
  readonly store: string
  /** Where the key set of an issuer is. That of another one is nowhere. */
  readonly keys: string
  readonly workers: number
  readonly tls?: Certificate
}

/** Waits until it has found its store. */
async function startGateway(file: string, options: Options): Promise<Gateway> {
  const [url, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  writeFileSync(file, configText(url, admin, options))
  const process = await spawnGateway(file, `http://${admin}/livez`)
  await until(async () => (await fetch(`http://${admin}/readyz`)).status === 200)
  return { url: `http://${url}`, admin: `http://${admin}`, file, process }
}

async function endGateway({ process: { child, end } }: Gateway): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await end('SIGKILL')
}

function configText(url: string, admin: string, { upstream, store, keys, workers, tls }: Options): string {
  const limits = (read: number, soft: string) =>
    `{ read: { 1h: ${read} }, write: { 1h: 1000000 }, small: { 1h: 1 }, soft: { 1h: ${soft} } }`
  return `
listen: ${url}
workers: ${workers}
${tls === undefined ? '' : `tls: { cert: ${tls.certFile}, key: ${tls.keyFile} }`}
upstream: { url: "${upstream}", response_timeout: 300ms }
store: "${store}"
admin: { listen: "${admin}", token: ${ADMIN_TOKEN} }
auth:
  jwt:
    - { issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }
    - { issuer: "https://known.test", audience: tollgate, jwks: "${keys}", algorithms: [RS256] }
    - { issuer: "https://unknown.test", audience: tollgate, jwks: "http://127.0.0.1:1/", algorithms: [RS256] }
  shadow: ${workers > 1}
readiness: { credentials: 0s } # nobody waits for the keys that are nowhere
edge: { lenient: [underscore_names] }
quota:
  baselines: { personal: ${limits(20, '{ limit: 1, over: 1000000 }')}, global: ${limits(60, '1000000')} }
  store_outage: { read: { allow: 50% } }
  plans: { usual: {} }
  default_plan: usual
  exempt: { users: [monitor] }
routes:
  - { match: "GET /items/*", category: read, cost: 5 }
  - { match: "GET /write/*", category: write }
  - { match: "GET /settled", category: write, cost: 5, settle: { header: X-Cost, max: 10 } }
  - { match: "POST /again", category: write, idempotency: { header: Idempotency-Key, for: 1h } }
  - { match: "GET /small", category: small, shadow: true }
  - { match: "GET /soft", category: soft }
  - { match: "GET /open", public: true }
alerts:
  - { name: near, scope: personal, category: read, window: 1h, at: [20%], webhook: { url: "http://127.0.0.1:1/", secret: whsec_${Buffer.alloc(32).toString('base64')} } }
log: { requests: errors }
`
}

/** An issuer's key set. */
async function startKeys(): Promise<http.Server> {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const set = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }] })
  const server = http.createServer((_req, res) => res.end(set))
  await listening(server)
  return server
}

/** What is no HTTP. */
async function garbage(url: string): Promise<void> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  socket.end('canary\r\n\r\n')
  socket.resume()
  await once(socket, 'close')
}

interface Traffic {
  /** Waits until so many more rounds are over. */
  rounds(count: number): Promise<void>
  stop(): Promise<void>
}

/** Requests of every kind to all gateways, round by round, so that every counter grows from one scrape to the next. */
function startTraffic(urls: readonly string[]): Traffic {
  let done = 0
  let stopped = false
  const running = run()

  async function run(): Promise<void> {
    while (!stopped) {
      await Promise.all(urls.map(round))
      done++
      await sleep(150)
    }
  }

  async function round(url: string): Promise<void> {
    const ask = (path: string, init: RequestInit) =>
      fetch(url + path, init)
        .then((response) => response.arrayBuffer())
        .catch(() => null)
    const get = (path: string, user?: string) => ask(path, user === undefined ? {} : { headers: bearer(user) })
    // To both gateways with the same key.
    const again = { ...bearer('alice'), 'idempotency-key': `key-${done}`, under_score: 'yes' }
    await Promise.all([
      get('/items/1', 'alice'),
      get('/items/1', `user-${done}`),
      get('/write/1', 'alice'),
      get('/write/500', 'alice'),
      get('/write/broken', 'alice'),
      get('/write/slow', 'alice'),
      get('/settled', 'alice'),
      get('/write/1', 'monitor'),
      ask('/again', { method: 'POST', body: 'x', headers: again }),
      get('/small', 'alice'),
      get('/soft', 'alice'),
      get('/open'),
      get('/items/1'),
      get('/nope', 'alice'),
      get('/nope/too'),
      get('/me/quota', 'alice'),
    ])
  }

  return {
    rounds: async (count) => {
      const goal = done + count
      while (done < goal) await sleep(50)
    },
    stop: async () => {
      stopped = true
      await running
    },
  }
}
