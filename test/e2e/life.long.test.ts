import { once } from 'node:events'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ecKey, jwt as signed, type TestKey } from '../auth/support.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'
import { startUpstream, type Upstream } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

const ADMIN_TOKEN = 'test-admin-token-of-32-characters'

let folder: string
let upstream: Upstream
let port: number
let url: string
let admin: string
let running: GatewayProcess[]
beforeEach(async () => {
  folder = tempFolder()
  upstream = await startUpstream((seen, res) => {
    if (seen.url !== '/never') setTimeout(() => res.end('ok'), seen.url === '/slow' ? 400 : 0)
  })
  port = await freePort()
  url = `http://127.0.0.1:${port}`
  admin = `http://127.0.0.1:${await freePort()}`
  running = []
})
afterEach(async () => {
  for (const { child, end } of running) if (child.exitCode === null && child.signalCode === null) await end('SIGKILL')
})

function config(limit: number, length = '1h'): string {
  return `
listen: 127.0.0.1:${port}
upstream: { url: "${upstream.url}" }
store: sqlite:${join(folder, 'quota.db')}
admin: { listen: "${admin.slice('http://'.length)}", token: ${ADMIN_TOKEN} }
auth:
  jwt: [{ issuer: "https://id.test", audience: tollgate, secret: a-shared-secret-of-forty-characters-long, algorithms: [HS256] }]
quota:
  windows: { short: ${length} }
  baselines: { personal: { read: { short: ${limit} } }, global: { read: { short: 1000 } } }
routes: [{ match: "GET /*", category: read, cost: 1 }]
`
}

async function start(file = join(folder, 'tollgate.yaml')): Promise<GatewayProcess> {
  const gateway = await spawnGateway(file, `${url}/me/quota`)
  running.push(gateway)
  return gateway
}

const file = (text: string): string => {
  const path = join(folder, 'tollgate.yaml')
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
  return path
}
const get = (path = '/x') => fetch(url + path, { headers: bearer('alice') })
async function standing(): Promise<{ limit: number; used: number }> {
  const { windows } = (await (await get('/me/quota')).json()) as {
    windows: { read: { limit: number; used: number }[] }
  }
  return windows.read[0] ?? { limit: -1, used: -1 }
}

/** With a token signed by that key. */
async function statusWith(key: TestKey): Promise<number> {
  const payload = { iss: 'https://id.test', aud: 'tollgate', sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600 }
  return (await send('/x', signed({ key, payload }))).status
}
/** A request with the path as it stands, on a connection of its own. */
async function send(path: string, credential: string | null): Promise<{ status: number; requestId: string }> {
  const headers = credential === null ? {} : { authorization: `Bearer ${credential}` }
  const req = http.get({ host: '127.0.0.1', port, path, headers, agent: false })
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  res.resume()
  return { status: res.statusCode ?? 0, requestId: String(res.headers['x-request-id']) }
}
const readiness = async (): Promise<number> => (await fetch(`${admin}/readyz`)).status

it('a window that is used up refuses until its end, and goes on after it', async () => {
  file(config(2, '3s'))
  await start()
  expect([(await get()).status, (await get()).status]).toEqual([200, 200])
  const refused = await get()
  expect(refused.status).toBe(429)
  const body = (await refused.json()) as { retryAfterSeconds: number }
  expect(body.retryAfterSeconds).toBeLessThanOrEqual(3)
  await sleep(body.retryAfterSeconds * 1000)
  expect((await get()).status).toBe(200)
  expect((await standing()).used).toBe(1)
})

it('a window is remembered through a stop and through kill -9', async () => {
  file(config(5))
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const gateway = await start()
    await get()
    await gateway.end(signal)
  }
  await start()
  expect(await standing()).toMatchObject({ limit: 5, used: 2 })
  expect([(await get()).status, (await get()).status, (await get()).status, (await get()).status]).toEqual([
    200, 200, 200, 429,
  ])
})

it('a changed configuration is in force without a restart, the counters stay, and what does need one is told as a warning', async () => {
  file(config(2))
  const gateway = await start()
  await get()
  await get()
  expect((await get()).status).toBe(429)
  file(config(3))
  await expect.poll(standing, { timeout: 30_000 }).toMatchObject({ limit: 3, used: 2 })
  expect((await get()).status).toBe(200)
  file(config(1))
  await expect.poll(standing, { timeout: 30_000 }).toMatchObject({ limit: 1, used: 3 })
  expect((await get()).status).toBe(429)
  expect(gateway.child.exitCode).toBeNull()

  file(config(7).replace(`listen: 127.0.0.1:${port}`, `listen: 127.0.0.1:${await freePort()}`))
  await expect.poll(standing, { timeout: 30_000 }).toMatchObject({ limit: 7, used: 3 })
  const detail = 'listen: this change takes effect at the next restart'
  const warnings = () => gateway.lines().filter((line) => line.msg === 'configuration warning')
  await expect.poll(warnings).toMatchObject([{ detail }])
})

it('a changed configuration with problems, or deleted, leaves the old one in force and says so once, and its return too', async () => {
  const path = file(config(2))
  const gateway = await start()
  const told = (msg: string) => gateway.lines().filter((line) => line.msg === msg)
  const refused = () => told('configuration refused, the one before stays in force')
  file(config(3).replace('category: read', 'categry: read'))
  await expect.poll(refused, { timeout: 30_000 }).toHaveLength(1)
  expect(gateway.output()).toContain('did you mean')
  expect(await standing()).toMatchObject({ limit: 2 })
  file(config(4))
  await expect.poll(standing, { timeout: 30_000 }).toMatchObject({ limit: 4 })

  rmSync(path)
  await expect.poll(refused, { timeout: 30_000 }).toHaveLength(2)
  expect(refused()[1]?.problems).toEqual([expect.stringContaining('cannot be read (ENOENT): check the path')])
  expect(await standing()).toMatchObject({ limit: 4 })
  file(config(4))
  await expect.poll(() => told('configuration loaded'), { timeout: 30_000 }).toHaveLength(3)
  expect(refused()).toHaveLength(2)
})

it.each([1, 2])(
  'a changed configuration tells its warnings in the log, as the start told those of its own: %i workers',
  async (workers) => {
    file(`${config(2)}workers: ${workers}\n`)
    const gateway = await start()
    file(`${config(2)}workers: ${workers}\nedge: { trusted_proxies: [0.0.0.0/0] }\n`)
    const warned = () => gateway.lines().filter(({ msg }) => msg === 'configuration warning')
    const detail = expect.stringMatching(/tollgate\.yaml:\d+:\d+ edge\.trusted_proxies\[0\]: warning: /)
    await expect.poll(warned, { timeout: 30_000 }).toEqual([expect.objectContaining({ detail })])
  },
)

it('a changed configuration is not needed for a key set file that was replaced in place: SIGHUP reads it again', async () => {
  const [old, fresh] = [ecKey('2026-08'), ecKey('2026-09')]
  const keys = (key: TestKey): void => writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [key.jwk] }))
  keys(old)
  file(config(9).replace(/secret: .*, algorithms: \[HS256\]/, 'jwks: "file:keys.json", algorithms: [ES256]'))
  const gateway = await start()
  expect([await statusWith(old), await statusWith(fresh)]).toEqual([200, 401])
  keys(fresh)
  // The watcher looks at the configuration only: that is as it was.
  expect([await statusWith(old), await statusWith(fresh)]).toEqual([200, 401])
  gateway.child.kill('SIGHUP')
  await expect.poll(() => statusWith(fresh), { timeout: 30_000 }).toBe(200)
  expect(await statusWith(old)).toBe(401)
})

it('a changed configuration is read when SIGHUP comes while the gateway starts, as soon as it has', async () => {
  // Without its store it waits for a second before it listens for clients.
  const path = file(config(9).replace(/store: .*/, 'store: redis://127.0.0.1:1'))
  const gateway = await spawnGateway(path, `${admin}/livez`)
  running.push(gateway)
  gateway.child.kill('SIGHUP')
  const loaded = () => gateway.lines().filter((line) => line.msg === 'configuration loaded')
  await expect.poll(loaded, { timeout: 30_000 }).toHaveLength(2)
})

it('a changed configuration is noticed that came after the file was read and before the gateway had started', async () => {
  const waiting = (limit: number): string => file(config(limit).replace(/store: .*/, 'store: redis://127.0.0.1:1'))
  const gateway = await spawnGateway(waiting(9), `${admin}/livez`)
  running.push(gateway)
  waiting(8)
  const loaded = () => gateway.lines().filter((line) => line.msg === 'configuration loaded')
  await expect.poll(loaded, { timeout: 30_000 }).toHaveLength(2)
})

it('a changed configuration is noticed when a ConfigMap swaps its symlink', async () => {
  const version = (name: string, limit: number): void => {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'tollgate.yaml'), config(limit))
    symlinkSync(name, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  version('v1', 2)
  symlinkSync(join('..data', 'tollgate.yaml'), join(folder, 'tollgate.yaml'))
  await start()
  expect(await standing()).toMatchObject({ limit: 2 })
  version('v2', 9)
  await expect.poll(standing, { timeout: 30_000 }).toMatchObject({ limit: 9 })
})

it('a store that is out is told with the policy in force, also a changed one', async () => {
  const without = (outage: string): string =>
    config(100)
      .replace(/store: .*/, `store: redis://127.0.0.1:1`)
      .replace('quota:', `quota:\n  store_outage: ${outage}`)
  file(without('{}'))
  const gateway = await start()
  const told = (msg: string) => gateway.lines().filter((line) => line.msg === msg)
  expect((await get()).status).toBe(503)
  const out = () => told('the store is out: charges are decided without it')
  await expect.poll(out, { timeout: 30_000 }).toMatchObject([{ reason: 'connection', policy: { read: 'refuse' } }])
  file(without('{ read: { allow: 10% } }'))
  await expect.poll(async () => (await get()).status, { timeout: 30_000 }).toBe(200)
  const still = () => told('the store is still out: charges are decided without it').at(-1)
  await expect.poll(still, { timeout: 30_000 }).toMatchObject({ policy: { read: 'allow 10%' } })
  expect(still()?.charges).toMatchObject({ refused: 0 })
})

describe('SIGTERM', () => {
  const drain = (keys: string): string => file(`${config(100)}drain: { ${keys} }\n`)
  const loggedRequests = (gateway: GatewayProcess) => gateway.lines().filter((line) => line.msg === 'request')

  it('SIGTERM lets requests under way finish and exits with 0, whatever SIGHUPs come: they have nothing to read any more', async () => {
    file(config(100))
    const gateway = await start()
    const slow = Array.from({ length: 10 }, () => get('/slow'))
    await expect.poll(() => upstream.seen.length).toBe(10)
    gateway.child.kill('SIGTERM')
    await expect.poll(() => gateway.lines().map((line) => line.msg)).toContain('draining')
    const hangups = setInterval(() => gateway.child.kill('SIGHUP'), 1)
    expect(await gateway.ended.finally(() => clearInterval(hangups))).toBe(0)
    for (const response of await Promise.all(slow)) expect(await response.text()).toBe('ok')
    expect(gateway.lines().filter((line) => line.level === 40)).toEqual([])
  })

  it('SIGTERM is followed by drain.delay, in which /readyz is 503 and requests are still taken', async () => {
    drain('delay: 10m, timeout: 10s')
    const gateway = await start()
    await expect.poll(readiness, { timeout: 30_000 }).toBe(200)
    gateway.child.kill('SIGTERM')
    await expect.poll(readiness, { timeout: 30_000 }).toBe(503)
    await expect.poll(() => gateway.lines().map((line) => line.msg)).toContain('draining')
    for (let i = 0; i < 3; i++) expect((await send('/x', jwtOf('alice'))).status).toBe(200)
    await sleep(400) // sooner it is the same signal
    expect(await gateway.end('SIGTERM')).toBe(1)
  })

  it('SIGTERM ends it after drain.delay, not before, and is one where it comes twice at once: npm passes on what its group gets', async () => {
    drain('delay: 1s, timeout: 10s')
    const gateway = await start()
    const signalled = performance.now()
    // Two signals, since the kernel makes one of two alike; at once, so that they are heard at once.
    gateway.child.kill('SIGINT')
    expect(await gateway.end('SIGTERM')).toBe(0)
    expect(performance.now() - signalled).toBeGreaterThan(990)
    expect(gateway.lines().at(-1)).toMatchObject({ msg: 'stopped' })
  })

  it('SIGTERM breaks off what is under way past drain.timeout, tells how much that is, records it, and exits', async () => {
    drain('timeout: 300ms')
    const gateway = await start()
    const hanging = [1, 2].map(() => get('/never').catch((error: unknown) => error))
    await expect.poll(() => upstream.seen.length).toBe(2)
    expect(await gateway.end('SIGTERM')).toBe(0)
    for (const error of await Promise.all(hanging)) expect(error).toBeInstanceOf(TypeError)
    const aborted = { user: 'alice', cost: 1, outcome: 'aborted', clientStatus: 499 }
    expect(loggedRequests(gateway).filter((line) => line.route === 'GET /*')).toMatchObject([aborted, aborted])
    const warnings = gateway.lines().filter((line) => line.level === 40)
    expect(warnings).toMatchObject([{ msg: expect.stringContaining('drain.timeout is over'), requests: 2 }])
    expect(gateway.lines().at(-1)).toMatchObject({ msg: 'stopped' })
  })

  it('a second time ends a gateway that is draining at once, with exit code 1', async () => {
    drain('timeout: 1h')
    const gateway = await start()
    const hanging = get('/never').catch((error: unknown) => error)
    await expect.poll(() => upstream.seen.length).toBe(1)
    gateway.child.kill('SIGTERM')
    await expect.poll(() => gateway.lines().map((line) => line.msg)).toContain('draining')
    await sleep(400)
    expect(gateway.child.exitCode).toBeNull()
    expect(await gateway.end('SIGTERM')).toBe(1)
    expect(await hanging).toBeInstanceOf(TypeError)
    expect(gateway.output()).toContain('tollgate: SIGTERM for the second time: ended at once')
  })

  it.each([
    [1, 'SIGTERM'],
    [2, 'SIGINT'],
  ] as const)(
    'a second time ends one that is still starting at once, too, and says so (workers: %i)',
    async (workers, first) => {
      // Without its store it waits for a second before it listens for clients.
      const path = file(`${config(9).replace(/store: .*/, 'store: redis://127.0.0.1:1')}workers: ${workers}\n`)
      const gateway = await spawnGateway(path, `${admin}/livez`)
      running.push(gateway)
      gateway.child.kill(first)
      // Nothing tells when it has heard the first: what comes too soon after that is the same signal.
      const again = setInterval(() => gateway.child.kill('SIGTERM'), 50)
      expect(await gateway.ended.finally(() => clearInterval(again))).toBe(1)
      expect(gateway.output()).toContain('tollgate: SIGTERM for the second time: ended at once')
      expect(gateway.output()).not.toContain('"what":"gateway"')
    },
  )
})

it('the log on the standard output has one line of JSON for each request, good or bad, and no credential', async () => {
  file(`${config(2)}log: { requests: all }\n`)
  const gateway = await start()
  const made = await fetch(`${admin}/api/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ user: 'bob', name: 'laptop' }),
  })
  const { token } = (await made.json()) as { token: string }
  const jwt = jwtOf('alice')
  const forged = `${jwtOf('mallory').slice(0, -4)}AAAA`
  const requests: [path: string, credential: string | null, status: number, outcome: string][] = [
    ['/a?access_token=in-the-query', jwt, 200, 'forwarded'],
    ['/b', jwt, 200, 'forwarded'],
    ['/c', jwt, 429, 'refused'],
    ['/d', token, 200, 'forwarded'],
    ['/e', forged, 401, 'denied'],
    ['/f', 'gw_00000000000000000000000000000000000000', 401, 'denied'],
    ['/g', null, 401, 'denied'],
    ['/me/quota', jwt, 200, 'answered'],
    ['/%2e%2e/x', jwt, 400, 'denied'],
  ]
  const expected: { requestId: string }[] = []
  for (const [path, credential, clientStatus, outcome] of requests) {
    const response = await send(path, credential)
    expect([path, response.status]).toEqual([path, clientStatus])
    const line = { requestId: response.requestId, method: 'GET', clientStatus, outcome }
    expected.push(line)
  }
  expect(await gateway.end('SIGTERM')).toBe(0)
  const ids = new Set(expected.map((line) => line.requestId))
  expect(ids.size).toBe(requests.length)
  const lines = gateway.lines().filter((line) => line.msg === 'request')
  expect(lines.filter((line) => ids.has(String(line.requestId)))).toMatchObject(expected)
  // The one more is that which found out that the gateway had started.
  expect(lines).toHaveLength(requests.length + 1)
  for (const secret of [jwt, token, forged, 'in-the-query', ADMIN_TOKEN, 'a-shared-secret', 'gw_0000']) {
    expect(gateway.output()).not.toContain(secret)
    expect(gateway.output()).not.toContain(secret.split('.')[2] ?? secret)
  }
})

it('a configuration with problems keeps the gateway from starting, with exit code 1 and every problem', async () => {
  const path = file(config(3).replace('category: read', 'categry: read').replace('cost: 1', 'cost: -1'))
  const error = await spawnGateway(path, url).then(
    () => '',
    (e: Error) => e.message,
  )
  expect(error).toContain('ended with 1')
  expect(error).toMatch(/tollgate\.yaml:\d+:\d+ routes\[0\].*categry/)
  expect(error).toMatch(/tollgate\.yaml:\d+:\d+ routes\[0\]\.cost/)
})

describe('what keeps a gateway from starting is told at its place in the file', () => {
  const said = (yaml: string): Promise<string> =>
    spawnGateway(file(yaml), `${url}/me/quota`).then(
      () => '',
      (error: Error) => error.message,
    )

  it.each([
    [
      'listen',
      () => url.slice('http://'.length),
      /tollgate: .*tollgate\.yaml:2:9 listen: .*EADDRINUSE.*: choose an address/,
    ],
    [
      'admin.listen',
      () => admin.slice('http://'.length),
      /tollgate: .*tollgate\.yaml:5:18 admin\.listen: .*EADDRINUSE/,
    ],
  ])('an address that another process has: %s', async (_key, address, place) => {
    const [, otherPort] = address().split(':')
    const other = http.createServer((_req, res) => res.destroy()).listen(Number(otherPort), '127.0.0.1')
    await once(other, 'listening')
    try {
      expect(await said(config(3))).toMatch(place)
    } finally {
      other.close()
    }
  })

  it('a store whose file cannot be opened', async () => {
    const yaml = config(3).replace(join(folder, 'quota.db'), folder)
    expect(await said(yaml)).toMatch(/tollgate: .*tollgate\.yaml:4:8 store: cannot open .* name a file in a folder/)
  })
})
