import { spawn } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, it } from 'vitest'
import { mintToken } from '../../src/control/access-key-record.ts'
import { tempFolder } from '../setup/at-end.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Credentials that nobody gave out, as fast as a process can send them, and what others notice of it. */

const REST = `
store_options: { deadline: 5s }
quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 100000 } } } }
edge: { max_lag: 1m }
routes: [{ match: GET /thing, category: read, cost: 1 }]`

const folder = tempFolder()
let redis: RedisServer
let upstream: Upstream
beforeAll(async () => {
  redis = await startRedis()
  upstream = await startUpstream()
})

interface Flood {
  /** Responses by status so far. */
  counts(): Record<string, number>
  stop(): Promise<Record<string, number>>
}

async function startFlood(
  url: string,
  credentials: readonly string[],
  addresses: readonly string[] = [],
): Promise<Flood> {
  const file = join(folder, `credentials-${Math.random()}`)
  await writeFile(file, credentials.join('\n'))
  const child = spawn(process.execPath, ['test/e2e/flood.ts', `${url}/thing`, file, '64', ...addresses])
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const counts = () => JSON.parse(output.trim().split('\n').at(-1) || '{}') as Record<string, number>
  return {
    counts,
    async stop() {
      child.stdin.end()
      await once(child, 'close')
      return counts()
    },
  }
}

/** The status of one request of a user who has not been here before, from an address of its own. */
function ask(url: string, headers: Record<string, string>, localAddress = '127.0.0.9'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    http
      .get(`${url}/thing`, { headers, localAddress, agent: false }, (response) => {
        response.resume().on('close', () => resolve(response.statusCode))
      })
      .on('error', reject)
  })
}

const ISSUER = 'https://dear.test'

/** Distinct JWTs of an issuer whose key takes longest to check with, none of them signed by it. */
function forgeries(count: number): string[] {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' })
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = part({ alg: 'ES512', kid: 'k' })
  const signature = sign('sha512', Buffer.from('x'), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString(
    'base64url',
  )
  const exp = Math.floor(Date.now() / 1000) + 3600
  return Array.from({ length: count }, (_, i) => {
    return `${header}.${part({ iss: ISSUER, aud: 'tollgate', sub: `u${i}`, exp })}.${signature}`
  })
}

/** Besides those of the harness: an issuer with a P-521 key. */
async function withDearIssuer(text: string): Promise<string> {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' })
  const path = join(folder, 'dear.json')
  await writeFile(path, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] }))
  const dear = `{ issuer: "${ISSUER}", audience: tollgate, jwks: "file:${path}", algorithms: [ES512] }`
  return text.replace('algorithms: [HS256] }]', `algorithms: [HS256] }, ${dear}]`)
}

/** A machine with much to do answers a flood slowly. */
const poll = <T>(read: () => T) => expect.poll(read, { timeout: 60_000 })

describe.each([
  ['Redis', () => redis.url],
  ['the embedded store', () => `sqlite:${join(folder, 'tollgate.db')}`],
])('on %s', (name, store) => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp(await withDearIssuer(yaml(upstream.url, REST, store())))
  })

  it('a flood of access keys that nobody made leaves others alone, and the store is not asked for one of them', async () => {
    const made = await fetch(`${app.admin}/api/tokens`, {
      method: 'POST',
      headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
      body: JSON.stringify({ user: 'owner', name: 'laptop' }),
    })
    const { token } = (await made.json()) as { token: string }
    expect(await ask(app.url, { authorization: `Bearer ${token}` })).toBe(200)
    const client = new Redis(redis.url)
    await client.config('RESETSTAT')
    const madeUp = Array.from({ length: 10_000 }, () => mintToken({ user: 'u', name: 'n', expiresAt: null }, 1).token)
    const flood = await startFlood(app.url, madeUp)
    await poll(() => flood.counts()['401'] ?? 0).toBeGreaterThan(500)
    for (let i = 0; i < 50; i++) expect(await ask(app.url, bearer(`${name} ${i}`))).toBe(200)
    expect(await ask(app.url, { authorization: `Bearer ${token}` })).toBe(200)
    await poll(() => flood.counts()['401'] ?? 0).toBeGreaterThan(10_000)
    expect(Object.keys(await flood.stop())).toEqual(['401'])
    const commands = await client.info('commandstats')
    // The histogram of failures takes one HGET now and then.
    expect(Number(/cmdstat_hget:calls=(\d+)/.exec(commands)?.[1] ?? 0)).toBeLessThan(100)
    expect(commands).not.toMatch(/cmdstat_(hmget|hscan|hvals):/)
    client.disconnect()
  })

  it('a flood of the forgeries that cost most leaves others alone, and one address has few of them checked', async () => {
    const before = app.requests().length
    const flood = await startFlood(app.url, forgeries(10_000))
    await poll(() => flood.counts()['429'] ?? 0).toBeGreaterThan(100)
    for (let i = 0; i < 50; i++) expect(await ask(app.url, bearer(`${name} other ${i}`))).toBe(200)
    const { '401': checked = 0, '429': refused = 0, ...rest } = await flood.stop()
    expect(rest).toEqual({})
    expect(checked).toBeGreaterThanOrEqual(200)
    expect(refused).toBeGreaterThan(100)
    const [one] = app
      .requests()
      .slice(before)
      .filter(({ clientStatus }) => clientStatus === 429)
    expect(one).toMatchObject({
      error: 'too_many_in_flight',
      reason: 'failed checks',
      share: { thing: 'checks', bound: 'failures' },
    })
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    expect(metrics).toMatch(/tollgate_share_refusals_total\{thing="checks",bound="failures"\} \d{3}/)
  })

  it('the same flood from 200 addresses leaves others alone, too', async () => {
    const addresses = Array.from({ length: 200 }, (_, i) => `127.0.2.${i + 1}`)
    const flood = await startFlood(app.url, forgeries(10_000), addresses)
    await poll(() => flood.counts()['401'] ?? 0).toBeGreaterThan(500)
    for (let i = 0; i < 50; i++) expect(await ask(app.url, bearer(`${name} third ${i}`))).toBe(200)
    expect(Object.keys(await flood.stop()).sort()).not.toContain('error')
  })
})
