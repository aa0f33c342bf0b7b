import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { done } from '../cli/called.ts'
import { tempFolder } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** What exports say of grants over two replicas, held against what the upstream saw and what the store has of each grant. */

const SOON = { timeout: 30_000, interval: 20 }
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString()
const TOKENS = {
  admin: 'admin-of-the-exports-0000',
  acme: 'lead-of-acme-exports-0000',
  rival: 'lead-of-rival-exports-000',
}
type Who = keyof typeof TOKENS
/** Of each request. */
const COST = 2

let upstream: Upstream
const folder = tempFolder()
beforeAll(async () => {
  upstream = await startUpstream((_seen, res) => res.setHeader('X-Tokens', String(COST)).end('ok'))
})

const text = (store: string) => `
listen: 127.0.0.1:0
upstream: { url: "${upstream.url}" }
${store}
admin:
  listen: 127.0.0.1:0
  token: ${TOKENS.admin}
  tokens: [{ name: a, role: "lead:acme", token: ${TOKENS.acme} }, { name: r, role: "lead:rival", token: ${TOKENS.rival} }]
auth:
  jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256], organisation_claim: org }]
log: { level: fatal, requests: none }
quota:
  baselines: { personal: { read: { 1h: 6 } } }
  plans: { team: { personal: { read: { 1h: 6 } }, organisation: { read: { 1h: 12 } } } }
  default_plan: team
routes: [{ match: GET /x, category: read, cost: 5, settle: { header: X-Tokens, max: 5 } }]
`

// biome-ignore lint/suspicious/noExplicitAny: whatever it says
const parsed = (said: string): any => (said.startsWith('{') ? JSON.parse(said.split('\n')[0] ?? '') : null)

/** A grant as a row of an export names it. */
type Row = Readonly<Record<string, unknown>> & {
  readonly tokens: number
  readonly grant?: string
  readonly taken?: number
}

describe.each(['redis', 'sqlite'])('an export over two replicas and %s', (kind) => {
  let apps: RunningApp[]
  let file: string
  let stop = async (): Promise<void> => {}
  /** By owner. */
  const grants = new Map<string, string>()
  beforeAll(async () => {
    let store = `store: "sqlite:${join(folder, 'quota.db')}"`
    if (kind === 'redis') {
      const redis = await sharedRedis()
      stop = redis.stop
      store = `store: "${redis.url}"\nstore_options: { prefix: ${redis.prefix}, deadline: 10s }`
    }
    file = join(folder, `${kind}.yaml`)
    await writeFile(file, text(store))
    upstream.seen.length = 0
    apps = [await startApp(text(store)), await startApp(text(store))]
    const owners = [{ user: 'ann' }, { user: 'rita' }, { organisation: 'acme' }, { user: 'idle' }]
    for (const owner of owners) {
      const body = { ...owner, category: 'read', tokens: 11, until: TOMORROW, reason: 'an audit' }
      grants.set(Object.values(owner)[0] ?? '', (await admin('/api/grants', { body })).json.id)
    }
    for (const [user, org, count] of [
      ['ann', 'acme', 2],
      ['rita', 'rival', 1],
    ] as const) {
      await vi.waitFor(async () => {
        for (const app of apps) expect((await own(user, org, '/me/quota', app)).json.grants).toHaveLength(count)
      }, SOON)
    }
    await use('ann', 'acme')
    await use('bob', 'acme')
    await use('rita', 'rival')
    // The last cost may still be on its way.
    await vi.waitFor(async () => {
      const all = await rows('by=user')
      for (const user of ['ann', 'bob', 'rita']) expect(sum(all, 'tokens', { user })).toBe(seenOf(user))
    }, SOON)
  }, 120_000)
  afterAll(async () => {
    await stop()
  })

  async function admin(path: string, { as = 'admin', body, at = 0 }: { as?: Who; body?: unknown; at?: number } = {}) {
    const headers = { authorization: `Bearer ${TOKENS[as]}`, 'content-type': 'application/json' }
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${apps[at]?.admin}${path}`, { headers, ...init })
    const said = await response.text()
    return { status: response.status, said, json: parsed(said) }
  }
  async function own(user: string, org: string, path: string, { url } = apps[0] as RunningApp) {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${jwtOf(user, { org })}` } })
    const said = await response.text()
    return { status: response.status, json: parsed(said) }
  }
  /** As much as passes, at both replicas in turn. */
  async function use(user: string, org: string): Promise<void> {
    for (let i = 0; (await own(user, org, '/x', apps[i % 2])).status === 200; i++) expect(i).toBeLessThan(30)
  }
  const seenOf = (user: string) =>
    COST * upstream.seen.filter(({ headers }) => headers['x-tollgate-user'] === user).length
  async function rows(query: string, as: Who = 'admin', at = 0): Promise<Row[]> {
    const { status, said } = await admin(`/api/usage?format=ndjson&${query}`, { as, at })
    expect(status).toBe(200)
    return linesOf(said)
  }
  const linesOf = (said: string): Row[] =>
    said
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  const sum = (all: readonly Row[], field: 'tokens' | 'taken', of: Partial<Row> = {}) =>
    all
      .filter((row) => Object.entries(of).every(([name, value]) => row[name] === value))
      .reduce((total, row) => total + Number(row[field] ?? 0), 0)
  const takenOf = (all: readonly Row[]) =>
    Object.fromEntries(all.flatMap(({ grant, taken }) => (grant === undefined ? [] : [[grant, taken]])).sort())

  test(`an export over two replicas and ${kind} names each grant from which something was taken, and its tokens add up once`, async () => {
    const kept = (await admin('/api/grants')).json.grants as { id: string; taken: number }[]
    const taken = Object.fromEntries(kept.filter((grant) => grant.taken > 0).map((grant) => [grant.id, grant.taken]))
    expect(Object.keys(taken).sort()).toEqual(['ann', 'rita', 'acme'].map((owner) => grants.get(owner)).sort())
    for (const at of [0, 1]) {
      const [users, organisations] = [await rows('by=user', 'admin', at), await rows('by=organisation', 'admin', at)]
      expect(takenOf([...users, ...organisations])).toEqual(taken)
      for (const user of ['ann', 'bob', 'rita'])
        expect([user, sum(users, 'tokens', { user })]).toEqual([user, seenOf(user)])
      expect(sum(organisations, 'tokens', { organisation: 'acme' })).toBe(seenOf('ann') + seenOf('bob'))
      // Of a window what it holds and what grants paid is all that was used.
      for (const [by, names] of [
        ['user', ['ann', 'bob', 'rita']],
        ['organisation', ['acme']],
      ] as const) {
        const runs = await rows(`by=${by}&window=1h&step=run`, 'admin', at)
        for (const name of names) {
          const ofName = runs.filter((row) => row[by] === name)
          const all = sum(by === 'user' ? users : organisations, 'tokens', { [by]: name })
          expect([name, sum(ofName, 'tokens') + sum(ofName, 'taken')]).toEqual([name, all])
        }
      }
    }
  })

  test(`an export over two replicas and ${kind} is the same as CSV and on the command line`, async () => {
    const named = (await rows('by=user')).filter(({ grant }) => grant !== undefined)
    expect(named).toMatchObject([
      { user: expect.any(String), category: 'read', tokens: 0, end: TOMORROW, running: true, complete: true },
      { user: expect.any(String) },
    ])
    const csv = (await admin('/api/usage?format=csv&by=user')).said.split('\r\n')
    expect(csv[0]).toMatch(/,grant,taken$/)
    for (const { user, start, grant, taken } of named)
      expect(csv).toContain(`${user},read,,${start},${TOMORROW},0,true,true,,${grant},${taken}`)
    expect(csv.find((line) => line.startsWith('bob,'))).toMatch(/,true,true,,,$/)
    const { stdout } = await done('usage', 'export', '-c', file, '--format', 'ndjson')
    expect(linesOf(stdout).filter(({ grant }) => grant !== undefined)).toEqual(named)
    expect(takenOf(await rows('by=user&category=other'))).toEqual({})
    expect(takenOf(await rows('by=user&order=tokens'))).toEqual({})
  })

  test(`an export over two replicas and ${kind} shows a lead the grants of the own members and of the own organisation alone`, async () => {
    const seenBy = async (as: Who, by: string) => Object.keys(takenOf(await rows(`by=${by}`, as)))
    await expect.poll(() => seenBy('acme', 'user'), SOON).toEqual([grants.get('ann')])
    await expect.poll(() => seenBy('rival', 'user'), SOON).toEqual([grants.get('rita')])
    expect(await seenBy('acme', 'organisation')).toEqual([grants.get('acme')])
    expect(await seenBy('rival', 'organisation')).toEqual([])
    for (const query of [
      'by=user&organisation=acme',
      'by=organisation&organisation=acme',
      'user=ann&organisation=acme',
    ])
      expect([query, (await admin(`/api/usage?format=csv&${query}`, { as: 'rival' })).status]).toEqual([query, 403])
    expect(await rows('user=ann', 'rival')).toEqual([])
  })

  test(`an export over two replicas and ${kind} agrees with what a client sees of the own grants in GET /me/usage`, async () => {
    const ofUsers = takenOf(await rows('by=user'))
    const [ann, acme] = [grants.get('ann') ?? '', grants.get('acme') ?? '']
    for (const app of apps) {
      const shown = { scope: 'Personal', category: 'read', tokens: 11, until: TOMORROW }
      const taken = Number(ofUsers[ann])
      expect((await own('ann', 'acme', '/me/usage', app)).json.grants).toEqual([
        { id: ann, ...shown, taken, left: 11 - taken },
      ])
      expect((await own('bob', 'acme', '/me/usage?by=organisation', app)).json.grants).toMatchObject([
        { id: acme, scope: 'Organisation' },
      ])
      expect((await own('bob', 'acme', '/me/usage', app)).json.grants).toBeUndefined()
      expect((await own('idle', 'acme', '/me/usage', app)).json.grants).toBeUndefined()
    }
    const end = { method: 'DELETE', headers: { authorization: `Bearer ${TOKENS.admin}` } }
    const { endedAt } = (await (await fetch(`${apps[0]?.admin}/api/grants/${ann}`, end)).json()) as { endedAt: string }
    const untilOf = async (app: RunningApp) => (await own('ann', 'acme', '/me/usage', app)).json.grants?.[0]?.until
    for (const app of apps) await expect.poll(() => untilOf(app), SOON).toBe(endedAt)
    expect((await rows('user=ann')).find(({ grant }) => grant === ann)).toMatchObject({ end: endedAt, running: false })
  })
})
