import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { type Certificate, makeCa, makeCertificate } from '../setup/openssl.ts'
import { freePort, type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

const folder = tempFolder()
let ca: Certificate
let server: Certificate
beforeAll(() => {
  ca = makeCa(folder, 'ca')
  server = makeCertificate(folder, 'server', ca, 'IP:127.0.0.1')
})

let redis: RedisServer
let upstream: Upstream
let admin: Redis
let app: RunningApp
beforeEach(async () => {
  const port = await freePort()
  const tls = ['--tls-cert-file', server.certFile, '--tls-key-file', server.keyFile, '--tls-ca-cert-file', ca.certFile]
  redis = await startRedis({
    port,
    args: ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'yes', ...tls],
  })
  put('one')
  admin = new Redis({
    host: '127.0.0.1',
    port,
    tls: { ca: ca.cert, cert: server.cert, key: server.key },
  })
  await passwords('>first')
  upstream = await startUpstream()
  app = await startApp(configuration('first'))
})
afterEach(async () => {
  admin.disconnect()
})

/** Puts a new client certificate where the configuration has it. */
function put(name: string): void {
  const { cert, key } = makeCertificate(folder, name, ca, 'DNS:gateway.test')
  writeFileSync(join(folder, 'gateway.crt'), cert)
  writeFileSync(join(folder, 'gateway.key'), key)
}

async function passwords(...rules: string[]): Promise<void> {
  await admin.acl('SETUSER', 'tollgate', 'on', '~*', '&*', '+@all', ...rules)
}

function configuration(password: string): string {
  const rest = `
store_options:
  username: tollgate
  password: ${password}
  deadline: 2s
  tls: { ca: ${ca.certFile}, cert: ${join(folder, 'gateway.crt')}, key: ${join(folder, 'gateway.key')} }
quota:
  baselines: { personal: { read: { 1h: 100000 } }, global: { read: { 1h: 100000 } } }
routes: [{ match: GET /, category: read, cost: 1 }]
`
  return yaml(upstream.url, rest, `rediss://127.0.0.1:${redis.port}`)
}

const headers = bearer('alice')
const ask = async (path = '/'): Promise<Response> => fetch(app.url + path, { headers })

async function used(): Promise<number> {
  const { windows } = (await (await ask('/me/quota')).json()) as { windows: { read: { used: number }[] } }
  return windows.read[0]?.used ?? 0
}

/** Charges without a pause until it is told to end. @returns the statuses */
function traffic(): { end(): Promise<number[]> } {
  const statuses: number[] = []
  let isOver = false
  const lanes = Array.from({ length: 4 }, async () => {
    while (!isOver) statuses.push((await ask()).status)
  })
  return {
    async end() {
      isOver = true
      await Promise.all(lanes)
      return statuses
    },
  }
}

const isRenewed = () => app.observations.filter(({ type }) => type === 'store_login_renewed').length

it('a password and a certificate for the store are rotated by reloads, and each charge is answered and counted once', async () => {
  const { end } = traffic()
  await passwords('>second')
  await app.reload(configuration('second'))
  expect(isRenewed()).toBe(1)
  await sleep(100)
  await passwords('<first')
  put('two')
  await app.reload(configuration('second'))
  expect(isRenewed()).toBe(2)
  await admin.client('KILL', 'USER', 'tollgate')
  await sleep(500)
  const statuses = await end()
  // Connections that Redis itself cuts are made anew by who we are now.
  expect(await used()).toBe(statuses.filter((status) => status === 200).length)
  expect(upstream.seen.filter(({ url }) => url === '/')).toHaveLength(
    statuses.filter((status) => status === 200).length,
  )
})

it('a rotation alone leaves no charge without its answer', async () => {
  const { end } = traffic()
  await passwords('>second')
  await app.reload(configuration('second'))
  await sleep(300)
  const statuses = await end()
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(await used()).toBe(statuses.length)
})

it('a login that Redis refuses is told, and the one before stays in use', async () => {
  await expect(app.reload(configuration('wrong'))).rejects.toThrow(
    /the new login or certificate is refused .*WRONGPASS/s,
  )
  expect((await ask()).status).toBe(200)
  expect(isRenewed()).toBe(0)
})

it('a new login stays unused when another part of its configuration cannot be made', async () => {
  await passwords('>second')
  const next = configuration('second').replace('url: "http:', 'tls: { ca: /nowhere/ca.pem }, url: "https:')
  await expect(app.reload(next)).rejects.toThrow('/nowhere/ca.pem')
  expect(isRenewed()).toBe(0)
})

it('a reload with the same login makes no new connections', async () => {
  await app.reload(`${configuration('first')}\ntime_zone: Europe/Berlin\n`)
  expect(isRenewed()).toBe(0)
})
