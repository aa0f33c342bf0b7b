import { beforeAll, describe, expect, test } from 'vitest'
import { unseenAmong } from '../../src/admin/unseen.ts'
import { mintToken } from '../../src/control/access-key-record.ts'
import type { Charge } from '../../src/quota/charge.ts'
import type { Store } from '../../src/store/store.ts'
import { keepAccessKey } from '../control/keep-access-key.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { storeOver } from '../store/over.ts'
import { episode } from '../usage/usage-log.suite.ts'
import { type Running, startAdmin } from './running.ts'

describe.each(['sqlite', 'redis'] as const)('a name that may be misspelt over %s', (kind) => {
  let redis: Awaited<ReturnType<typeof sharedRedis>>
  let store: Store
  let running: Running
  beforeAll(async () => {
    redis = await sharedRedis()
    store = closedAtEnd(await storeOver(kind, redis))
    running = await startAdmin({ store, now: Date.now })
  })

  type Owner = { readonly user: string } | { readonly organisation: string }
  const pathOf = (owner: Owner) => `/api/${'user' in owner ? 'users' : 'organisations'}/${Object.values(owner)[0]}`
  async function sent(method: string, path: string, body?: object): Promise<boolean> {
    const { status, json } = await running.call(method, path, { ...(body && { body }) })
    expect(status).toBe(method === 'POST' ? 201 : 200)
    return json.unseen === true
  }
  const until = () => new Date(Date.now() + 86_400_000).toISOString()
  /** Whether each response about an owner says that nothing is kept of the name. */
  async function hints(owner: Owner): Promise<boolean[]> {
    return [
      await sent('GET', pathOf(owner)),
      await sent('POST', '/api/grants', { ...owner, category: 'read', tokens: 5, until: until(), reason: 'r' }),
      await sent('PUT', `${pathOf(owner)}/override`, { read: { '1h': 50 }, reason: 'r' }),
      await sent('GET', pathOf(owner)),
    ]
  }
  const ALL = [true, true, true, true]
  const NONE = [false, false, false, false]

  test(`a user with an access key over ${kind} is known without a look at what others were refused`, async () => {
    await keepAccessKey(store, mintToken({ user: 'kay', name: 'phone', expiresAt: null }, Date.now()).record)
    let reads = 0
    const readRefusals: Store['readRefusals'] = (...asked) => {
      reads++
      return store.readRefusals(...asked)
    }
    expect([...(await unseenAmong({ ...store, readRefusals }, 'personal', ['kay']))]).toEqual([])
    expect(reads).toBe(0)
    expect([...(await unseenAmong({ ...store, readRefusals }, 'personal', ['kya']))]).toEqual(['kya'])
    expect(reads).toBeGreaterThan(0)
  })

  let sequence = 0
  async function charge(who: Pick<Charge, 'user' | 'organisation'>): Promise<void> {
    const limits = {
      ...{ personal: [{ window: { name: '1h', seconds: 3600 }, limit: 10 }], global: null },
      organisation: who.organisation === null ? null : [{ window: { name: '1h', seconds: 3600 }, limit: 10 }],
    }
    const charges = [{ ...who, category: 'read', cost: 1, limits }]
    await store.settle({ instance: `unseen-${kind}`, sequence: ++sequence, refunds: [], charges })
  }
  const refused = (user: string, organisation: string | null) =>
    store.addUsage({
      ...{ instance: `unseen-${kind}-${user}`, sequence: 1, series: [] },
      episodes: [episode({ user, organisation, first: Date.now(), last: Date.now() })],
    })

  test(`a name that may be misspelt over ${kind} is hinted at wherever something is set or given for it, and what was set holds`, async () => {
    expect(await hints({ user: 'bbo' })).toEqual(ALL)
    expect(await hints({ organisation: 'amce' })).toEqual(ALL)
    const { json } = await running.call('GET', '/api/users/bbo')
    expect(json).toMatchObject({ override: { limits: { read: { '1h': 50 } } }, grants: [{ left: 5 }] })
  })

  test(`a name over ${kind} that a request has charged, a limit has refused, a credential has named or an access key has is not hinted at`, async () => {
    await charge({ user: 'charged', organisation: 'charging' })
    await refused('refused', 'refusing')
    await store.noteMemberships([{ user: 'member', plan: 'team', organisation: 'naming' }], 60_000)
    await store.noteUsers(['known'], 60_000)
    await running.call('POST', '/api/tokens', { body: { user: 'holder', organisation: 'holding', name: 'laptop' } })
    for (const user of ['charged', 'refused', 'member', 'known', 'holder']) expect(await hints({ user })).toEqual(NONE)
    for (const organisation of ['charging', 'refusing', 'naming', 'holding']) {
      expect(await hints({ organisation })).toEqual(NONE)
    }
    expect(await hints({ organisation: 'charged' })).toEqual(ALL)
    expect(await hints({ user: 'charging' })).toEqual(ALL)
  })

  test(`a file of overrides over ${kind} has a hint for each new name of which nothing is kept, with its line, and once`, async () => {
    await charge({ user: 'asker', organisation: null })
    const lines = ['{"user":"asker"', '{"user":"aksre"', '{"organisation":"wroks"', '{"user":"asekr"'].map(
      (line) => `${line},"read":{"1h":50},"reason":"r"}`,
    )
    const headers = { 'content-type': 'application/x-ndjson' }
    const put = async (query: string) => {
      const { json } = await running.call('PUT', `/api/overrides?merge=1${query}`, { body: lines.join('\n'), headers })
      return [json.unseen, json.unseenCount]
    }
    const named = [
      { line: 2, user: 'aksre' },
      { line: 3, organisation: 'wroks' },
      { line: 4, user: 'asekr' },
    ]
    expect(await put('&dry_run=1')).toEqual([named, 3])
    expect(await put('')).toEqual([named, 3])
    expect(await put('')).toEqual([[], 0])
  })
})
