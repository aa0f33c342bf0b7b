import { beforeEach, describe, expect, test } from 'vitest'
import { auditPage } from '../../../src/admin/audit-filter.ts'
import { lineOf } from '../../../src/observe/log-lines.ts'
import type { Observation } from '../../../src/observe/observation.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { type Running, startAdmin, YAML } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const get = (path: string) => running.call('GET', path)

test('the audit is read page by page', async () => {
  for (let i = 0; i < 5; i++) await running.call('POST', '/api/users/alice/reset', { body: { reason: `${i}` } })
  const whys: string[] = []
  let before = ''
  for (let pages = 0; pages < 3; pages++) {
    const { json } = await get(`/api/audit?limit=2${before}`)
    whys.push(...json.entries.map(({ why }: { why: string }) => why))
    before = `&before=${json.next}`
    expect(json.next === null).toBe(pages === 2)
  }
  expect(whys).toEqual(['4', '3', '2', '1', '0'])
  // A full page that ends with the very first change is the last one.
  expect((await get('/api/audit?limit=5')).json.next).toBeNull()
  for (const before of ['x', '0', '1e1', '', '9007199254740992'])
    expect(await get(`/api/audit?before=${before}`)).toMatchObject({
      status: 400,
      json: { problems: [{ path: 'before' }] },
    })
})

describe('the list of the audit', () => {
  const versions = async (query: string) =>
    (await get(`/api/audit?${query}`)).json.entries.map(({ version }: { version: number }) => version)
  beforeEach(async () => {
    await running.call('PATCH', '/api/quota', { body: { mode: 'loose' } })
    for (const user of ['alice', 'Malice'])
      await running.call('PUT', `/api/users/${user}/override`, { body: { read: { '1h': 7 }, reason: 'why' } })
    await running.call('POST', '/api/quota/reset', { body: { scope: 'global', category: 'write', reason: 'a test' } })
    await running.call('POST', '/api/tokens', { body: { user: 'bob', name: 'laptop' } })
    const file = { 'content-type': 'application/x-ndjson' }
    const lines = ['{"user":"carol","read":{"1h":7},"reason":"x"}', '{"organisation":"acme","factor":2,"reason":"x"}']
    await running.call('PUT', '/api/overrides?merge=1', { headers: file, body: lines.join('\n') })
    const key = `{"sha256":"${'0'.repeat(64)}","user":"dora","name":"from Kong"}`
    await running.call('PUT', '/api/tokens/import', { headers: file, body: key })
    await running.call('DELETE', '/api/tokens?user=dora', { body: {} })
  })

  test.each([
    ['of a kind', 'what=override', [3, 2]],
    ['by somebody, as far as the name is given', 'who=ADM', [8, 7, 6, 5, 4, 3, 2, 1]],
    ['by nobody of that name', 'who=ops', []],
    ['about users whose name has a part, whatever its case', 'about=ALICE', [3, 2]],
    ['about a user who has got an access key', 'about=bob', [5]],
    ['about an access key by its name', 'about=lapt', [5]],
    ['about a user whom a file names', 'about=carol', [6]],
    ['about an organisation that a file names', 'about=acme', [6]],
    ['about a user whose access keys were taken over and revoked', 'about=dora', [8, 7]],
    ['about access keys that were taken over and revoked together, by the name of one', 'about=kong', [8, 7]],
    ['about a category whose windows were emptied', 'about=write', [4]],
    ['that pass all of it', 'what=override&about=malice&who=admin', [3]],
  ])('%s', async (_which, query, expected) => {
    expect(await versions(query)).toEqual(expected)
  })

  test('the list of the audit comes page by page', async () => {
    const { json } = await get('/api/audit?what=override&limit=1')
    expect(json).toMatchObject({ entries: [{ version: 3 }], next: 3 })
    expect(await versions(`what=override&limit=1&before=${json.next}`)).toEqual([2])
  })

  test('the list of the audit refuses a filter that is none with what there is', async () => {
    for (const query of ['what=mode', 'who=', 'about=', `about=${'x'.repeat(513)}`, 'who=a&who=b'])
      expect((await get(`/api/audit?${query}`)).status, query).toBe(400)
    const { json } = await get('/api/audit?what=mode')
    expect(json.problems[0].msg).toContain('must be one of settings, override')
  })
})

test('a page of the audit looks through 2,000 changes, and the next one goes on', async () => {
  const entry = { at: 0, subject: null, from: {}, to: {}, why: null, what: 'settings' } as const
  const of = (version: number) => ({ ...entry, version, who: version === 1 ? 'ops' : 'admin' })
  const readAudit = async (before: number | null, limit: number) =>
    Array.from({ length: limit }, (_, i) => of((before ?? 3001) - 1 - i)).filter(({ version }) => version > 0)
  const options = { limit: 50, signal: new AbortController().signal }
  expect(await auditPage({ readAudit }, { who: 'ops' }, { ...options, before: null })).toEqual({
    entries: [],
    next: 1001,
  })
  expect(await auditPage({ readAudit }, { who: 'ops' }, { ...options, before: 1001 })).toEqual({
    entries: [of(1)],
    next: null,
  })
})

test('each change is one line of the log, with who, what, about whom, from, to, why and how many entries are forgotten', async () => {
  const seen: Observation[] = []
  const lines = () => seen.flatMap((one) => (one.type === 'changed' ? [lineOf(one)] : []))
  running = await startAdmin({ observe: (one) => void seen.push(one) })
  const put = (body: object) => running.call('PUT', '/api/users/alice/override', { body })
  await running.call('PATCH', '/api/quota', { body: { mode: 'loose', reason: 'a busy evening' } })
  await running.call('PATCH', '/api/quota', { body: { mode: 'loose' } })
  await put({ read: { '1h': 7 }, reason: 'Bearer abc.def', expiresAt: '2030-01-31T00:00:00Z' })
  await running.call('POST', '/api/users/alice/reset', { body: { reason: 'by mistake' } })
  await running.spend('alice', 'read', 7)
  const shared = { scope: 'global', category: 'read', window: '1h', reason: 'a load test' }
  await running.call('POST', '/api/quota/reset', { body: shared })
  const body = { user: 'alice', name: 'laptop' }
  const { json: token } = await running.call('POST', '/api/tokens', { body })
  await running.call('DELETE', `/api/tokens/${token.id}`)
  await running.call('GET', '/api/quota')

  const change = { level: 'info', msg: 'changed at run time' }
  const override = { limits: { read: { '1h': 7 } }, bypassGlobal: false, shadow: false }
  const to = { ...override, reason: 'Bearer [hidden]', expiresAt: '2030-01-31T00:00:00.000Z' }
  const of = (version: number, what: string, subject: string | null, more: object) => ({
    ...change,
    fields: { version, who: 'admin', what, subject, from: null, to: null, why: null, ...more },
  })
  expect(lines()).toEqual([
    of(1, 'settings', null, { to: { mode: 'loose' }, why: 'a busy evening' }),
    of(2, 'override', 'alice', { to, why: 'Bearer [hidden]' }),
    of(3, 'reset', 'alice', { why: 'by mistake' }),
    of(4, 'quota_reset', 'global:read', { from: { '1h': 7 }, to: { '1h': 0 }, why: 'a load test' }),
    of(5, 'token_created', token.id, { to: { ...body, expiresAt: null } }),
    of(6, 'token_revoked', token.id, { to: body }),
  ])
  expect(JSON.stringify(lines())).not.toContain(token.token)
  expect((await get('/api/audit')).json.forgotten).toBe(0)
})

test('a change that may have been made is a warning of the log', async () => {
  const seen: Observation[] = []
  const change = () => Promise.reject(new StoreError('gone', 'connection', 'unknown'))
  running = await startAdmin({ observe: (one) => void seen.push(one), broken: { change } })
  const { status } = await running.call('PATCH', '/api/quota', { body: { mode: 'loose', reason: 'a busy evening' } })
  expect(status).toBe(503)
  expect(seen.flatMap((one) => (one.type === 'change_unknown' ? [lineOf(one)] : []))).toEqual([
    {
      level: 'warn',
      msg: 'a change at run time may have been made',
      fields: { who: 'admin', what: 'settings', subject: null, to: { mode: 'loose' }, why: 'a busy evening' },
    },
  ])
})

test('the audit says how many entries are forgotten', async () => {
  running = await startAdmin({ broken: { forgottenChanges: async () => 42 } })
  expect((await get('/api/audit')).json.forgotten).toBe(42)
})

test('what a change set in vain is in its line of the log and in the CSV of the audit, and of other changes in neither', async () => {
  const seen: Observation[] = []
  const yaml = YAML.replace('quota:\n', 'quota:\n  plans: { team: {}, free: {} }\n  default_plan: free\n')
  running = await startAdmin({ yaml, observe: (one) => void seen.push(one) })
  const change = async (plan: string) => {
    await running.call('PATCH', `/api/plans/${plan}`, { body: { personal: { read: { '1h': 5 } } } })
    const fields = seen.flatMap((one) => (one.type === 'changed' ? [lineOf(one)?.fields] : [])).at(-1)
    const { text } = await get('/api/audit?format=csv')
    return { fields, row: text.split('\r\n')[1] ?? '' }
  }
  const vain = await change('team')
  const unfollowed = [{ by: [{ kind: 'no_users', plan: 'team' }], why: 'plan team has no known users' }]
  expect(vain.fields).toMatchObject({ what: 'settings', why: null, movesNobody: true, unfollowed })
  expect(vain.row).toMatch(/,"\[\{.*plan team has no known users.*\}\]",true$/)
  await running.spend('alice', 'read', 1)
  const followed = await change('free')
  expect(followed.fields).not.toHaveProperty('unfollowed')
  expect(followed.fields).not.toHaveProperty('movesNobody')
  expect(followed.row).toMatch(/,,,$/)
})

test('the audit is read for a time, and comes as CSV', async () => {
  let now = Date.parse('2026-11-20T10:10:00Z')
  running = await startAdmin({ now: () => now })
  for (const reason of ['first', 'second', 'third']) {
    await running.call('POST', '/api/users/alice/reset', { body: { reason } })
    now += 86_400_000
  }
  const whys = async (query: string) =>
    (await get(`/api/audit?${query}`)).json.entries.map(({ why }: { why: string }) => why)
  expect(await whys('from=2026-11-21')).toEqual(['third', 'second'])
  expect(await whys('from=2026-11-21T00:00:00Z&to=2026-11-22T00:00:00Z')).toEqual(['second'])
  expect(await whys('to=2026-11-21T00:00:00Z&limit=1')).toEqual(['first'])
  expect(await whys('from=36h')).toEqual(['third'])
  const { text, headers } = await get('/api/audit?format=csv&from=2026-11-21')
  expect(headers['content-disposition']).toBe('attachment; filename="audit-2026-11-23.csv"')
  const [head, ...lines] = text.trim().split('\r\n')
  expect(head).toBe('version,at,who,what,subject,from,to,why,unfollowed,movesNobody')
  expect(lines.map((line) => line.split(',').at(-3))).toEqual(['third', 'second'])
  expect(await get('/api/audit?from=yesterday')).toMatchObject({ status: 400, json: { problems: [{ path: 'from' }] } })
})
