import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { StoreError } from '../../../src/quota/quota-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { closedAtEnd } from '../../setup/at-end.ts'
import { sharedRedis } from '../../setup/redis.ts'
import { storeOver } from '../../store/over.ts'
import { NOW, type Running, startAdmin, TOKEN, VIEWER, YAML } from '../running.ts'

let running: Running
let read: string[]
beforeEach(async () => {
  read = []
  const readHistory: Running['store']['readHistory'] = (scope, id) => {
    read.push(`${scope} ${id}`)
    return running.store.readHistory(scope, id)
  }
  running = await startAdmin({ broken: { readHistory } })
})

test('the list of grants reads once what is kept of an owner, however many grants the owner has', async () => {
  const until = new Date(NOW + 86_400_000).toISOString()
  for (const owner of [{ user: 'bob' }, { user: 'bob' }, { organisation: 'bob' }, { user: 'bob' }, { user: 'ann' }]) {
    const body = { ...owner, category: 'read', tokens: 5, until, reason: 'r' }
    expect((await running.call('POST', '/api/grants', { body })).status).toBe(201)
  }
  read = []
  const { json } = await running.call('GET', '/api/grants')
  expect([json.total, json.grants.length]).toEqual([5, 5])
  expect(read.sort()).toEqual(['organisation bob', 'personal ann', 'personal bob'])
})

describe.each(['sqlite', 'redis'] as const)('a grant that is given with a key over %s', (kind) => {
  const OTHER = 'token-of-another-admin-000000000'
  let redis: Awaited<ReturnType<typeof sharedRedis>>
  let store: Store
  let replicas: Running[]
  /** What becomes of the next changes: the store makes them, and its replies are lost. */
  let lost = 0
  beforeAll(async () => {
    redis = await sharedRedis()
    store = closedAtEnd(await storeOver(kind, redis))
    const change: Store['change'] = async (...args) => {
      const made = await store.change(...args)
      if (lost-- > 0) throw new StoreError('gone', 'connection', 'unknown')
      return made
    }
    const yaml = YAML.replace('tokens: [', `tokens: [{ name: other, role: admin, token: ${OTHER} }, `)
    const options = { yaml, store, broken: { change }, now: Date.now }
    replicas = [await startAdmin(options), await startAdmin(options)]
  })
  beforeEach(() => {
    lost = 0
  })

  const until = new Date(Date.now() + 86_400_000).toISOString()
  const give = (key: string | null, more: object = {}, { at = 0, token = TOKEN } = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...(key !== null && { 'idempotency-key': key }) }
    const body = { user: 'bob', category: 'read', tokens: 5, until, reason: 'r', ...more }
    return (replicas[at] as Running).call('POST', '/api/grants', { headers, body })
  }
  const count = async () => (await store.readControl()).grants.size

  test(`a grant that is given with a key over ${kind} is given once, whichever reply is lost and at whichever replica it is sent again`, async () => {
    const before = await count()
    lost = 1
    expect((await give('"a1"')).json.error).toBe('outcome_unknown')
    const again = await give('"a1"', {}, { at: 1 })
    expect([again.status, again.json]).toMatchObject([201, { user: 'bob', tokens: 5, live: true }])
    expect((await give('"a1"')).json).toEqual(again.json)
    expect(await count()).toBe(before + 1)
    const { entries } = (await replicas[0]?.call('GET', '/api/audit?what=grant'))?.json ?? {}
    expect(entries.filter(({ subject }: { subject: string }) => subject === again.json.id)).toHaveLength(1)
  })

  test(`a grant that is given with a key over ${kind} is given once also if the request comes many times at once`, async () => {
    const before = await count()
    const user = 'rush'
    const replies = await Promise.all(Array.from({ length: 8 }, (_, i) => give('rush', { user }, { at: i % 2 })))
    expect(new Set(replies.map(({ status, json }) => `${status} ${json.id}`)).size).toBe(1)
    expect(await count()).toBe(before + 1)
  })

  test(`a grant that is given with a key over ${kind} is another one if the key or the sender is another, and a key stands for one request`, async () => {
    const { id } = (await give('k1', { user: 'ann' })).json
    const others = [
      await give('k2', { user: 'ann' }),
      await give('k1', { user: 'ann' }, { token: OTHER }),
      await give(null, { user: 'ann' }),
    ]
    expect(new Set([id, ...others.map(({ status, json }) => (status === 201 ? json.id : status))]).size).toBe(4)
    const before = await count()
    for (const more of [
      { user: 'bob' },
      { user: 'ann', tokens: 6 },
      { user: 'ann', reason: 'another' },
      { user: undefined, organisation: 'ann' },
    ]) {
      const { status, json } = await give('k1', more)
      expect([more, status, json.error]).toEqual([more, 422, 'idempotency_key_reused'])
    }
    const ended = await replicas[0]?.call('DELETE', `/api/grants/${id}`)
    expect(ended?.json.live).toBe(false)
    expect((await give('k1', { user: 'ann' })).json).toEqual({ ...ended?.json, unseen: true })
    expect(await count()).toBe(before)
    expect((await give('k1', { user: 'ann' }, { token: VIEWER })).status).toBe(403)
  })

  test(`a grant that is given with a key over ${kind} is refused for a key that is empty or too long, and another POST takes no key at all`, async () => {
    const asked = { method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'idempotency-key': '' } }
    const empty = await fetch(`${replicas[0]?.url}/api/grants`, asked)
    for (const json of [await empty.json(), (await give('k'.repeat(256))).json]) {
      expect(json).toMatchObject({ error: 'bad_request', problems: [{ path: 'Idempotency-Key' }] })
    }
    const headers = { 'idempotency-key': 'k', authorization: `Bearer ${TOKEN}` }
    const made = await replicas[0]?.call('POST', '/api/tokens', { headers, body: { user: 'bob', name: 'laptop' } })
    expect(made?.json).toMatchObject({ error: 'bad_request', problems: [{ path: 'Idempotency-Key' }] })
    expect(await store.listTokens()).toEqual([])
  })
})
