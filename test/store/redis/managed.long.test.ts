import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientCredentials } from '../../../src/lib/tls.ts'
import type { RedisAccess } from '../../../src/store/redis/client.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import { quotaStoreSuite } from '../../quota/quota-store.suite.ts'
import { type Certificate, makeCa, makeCertificate } from '../../setup/openssl.ts'
import { accepts, freePort, type RedisServer, startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

/** Servers as those who rent one out set them up: TLS alone, certificates of clients, logins, sockets. */

let folder: string
let ca: Certificate
let server: Certificate
let credentials: ClientCredentials
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-managed-'))
  ca = makeCa(folder, 'ca')
  server = makeCertificate(folder, 'server', ca, 'IP:127.0.0.1,DNS:redis.test')
  const client = makeCertificate(folder, 'client', ca, 'DNS:gateway.test')
  credentials = { ca: ca.cert, cert: client.cert, key: client.key }
})
afterAll(() => rmSync(folder, { recursive: true }))

/** TLS alone, and only for clients with a certificate: the default of Redis once TLS is on. */
const tlsArgs = (port: number) => [
  ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'yes', '--tls-replication', 'yes'],
  ...['--tls-cert-file', server.certFile, '--tls-key-file', server.keyFile, '--tls-ca-cert-file', ca.certFile],
]

async function startWithTls(more: readonly string[] = []): Promise<RedisServer> {
  const port = await freePort()
  return startRedis({ port, args: [...tlsArgs(port), ...more] })
}

const ANNOUNCED = ['--cluster-announce-ip', '127.0.0.1']

let opened = 0
async function open(access: RedisAccess) {
  const store = openRedisStore({ ...access, prefix: `managed-${++opened}`, deadlineMs: 2000, observe: () => {} })
  await whenReady(store)
  return { store, pass: (ms: number) => sleep(ms + 5), close: () => store.close() }
}

/** What the first failure to connect says. */
async function refusal(access: RedisAccess): Promise<string> {
  const told: string[] = []
  const store = openRedisStore({
    ...access,
    observe: (seen) => seen.type === 'store_failed' && told.push(seen.message),
  })
  await expect.poll(() => told[0], { timeout: 10_000 }).toBeDefined()
  await store.close()
  return told.join('\n')
}

describe('the Redis store on a server that wants certificates of its clients', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startWithTls(['--requirepass', 'secret'])
  })
  afterAll(() => redis.stop())
  const url = () => `rediss://127.0.0.1:${redis.port}`

  describe('as a quota store', () => quotaStoreSuite(() => open({ url: url(), password: 'secret', tls: credentials })))

  it('the Redis store on a server that wants certificates of its clients says that it has no certificate', async () => {
    expect(await refusal({ url: url(), password: 'secret', tls: { ca: ca.cert } })).toMatch(
      /certificate|ECONNRESET|closed/,
    )
  })

  it('the Redis store on a server that wants certificates of its clients takes no server whose certificate is for another name', async () => {
    const tls = { ...credentials, serverName: 'other.test' }
    expect(await refusal({ url: url(), password: 'secret', tls })).toMatch(/other\.test/)
    const { close } = await open({ url: url(), password: 'secret', tls: { ...credentials, serverName: 'redis.test' } })
    await close()
  })

  it('the Redis store on a server that wants certificates of its clients takes no server of an authority that nobody named', async () => {
    const { ca: _ca, ...tls } = credentials
    expect(await refusal({ url: url(), password: 'secret', tls })).toMatch(/certificate/)
  })
})

describe('the Redis store on a Unix socket', () => {
  let redis: RedisServer
  const socket = () => join(folder, 'redis.sock')
  beforeAll(async () => {
    redis = await startRedis({ args: ['--unixsocket', socket(), '--requirepass', 'p@ss'] })
  })
  afterAll(() => redis.stop())

  describe('as a quota store', () => quotaStoreSuite(() => open({ url: `valkey+unix://:p%40ss@${socket()}` })))
})

describe('the Redis store on a cluster by TLS', () => {
  let node: RedisServer
  beforeAll(async () => {
    node = await startWithTls([
      '--cluster-enabled',
      'yes',
      '--tls-cluster',
      'yes',
      ...ANNOUNCED,
      '--requirepass',
      'secret',
    ])
    const { ca: authority, cert, key } = credentials
    const tls = { ca: authority as string, cert: cert as string, key: key as string }
    const client = new Redis({ port: node.port, host: '127.0.0.1', password: 'secret', tls })
    await client.cluster('ADDSLOTSRANGE', 0, 16_383)
    while (!String(await client.cluster('INFO')).includes('cluster_state:ok')) await sleep(50)
    client.disconnect()
  })
  afterAll(() => node.stop())

  describe('as a quota store', () =>
    quotaStoreSuite(() => open({ url: `valkeys+cluster://:secret@127.0.0.1:${node.port}`, tls: credentials })))
})

describe('the Redis store behind sentinels that want a login and a certificate', () => {
  let primary: RedisServer
  let sentinel: { port: number; stop(): Promise<void> }
  beforeAll(async () => {
    primary = await startWithTls(['--requirepass', 'secret', '--masterauth', 'secret'])
    sentinel = await startSentinel(primary.port)
  })
  afterAll(async () => {
    await sentinel.stop()
    await primary.stop()
  })
  const url = () => `rediss+sentinel://:secret@127.0.0.1:${sentinel.port}/quota`

  describe('as a quota store', () =>
    quotaStoreSuite(() => open({ url: url(), tls: credentials, sentinel: { password: 'watch' } })))

  it('the Redis store behind sentinels that want a login and a certificate says that sentinels refuse its login', async () => {
    const access = { url: url(), tls: credentials, sentinel: { password: 'wrong' } }
    expect(await refusal(access)).toMatch(/WRONGPASS|sentinel/i)
  })
})

async function startSentinel(primary: number): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  const lines = [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${server.certFile}`,
    `tls-key-file ${server.keyFile}`,
    `tls-ca-cert-file ${ca.certFile}`,
    'tls-auth-clients yes',
    'tls-replication yes',
    'requirepass watch',
    `dir ${folder}`,
    `sentinel monitor quota 127.0.0.1 ${primary} 1`,
    'sentinel auth-pass quota secret',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const child: ChildProcess = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  for (let tries = 0; tries < 400 && !(await accepts(port)); tries++) await sleep(25)
  return {
    port,
    async stop() {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
