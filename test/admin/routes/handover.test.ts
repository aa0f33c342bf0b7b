import { beforeEach, expect, test } from 'vitest'
import { idOf } from '../../../src/admin/handover-link.ts'
import { hashAccessKey } from '../../../src/control/access-key-record.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { NOW, type Running, startAdmin } from '../running.ts'

const DAY = 86_400_000
const PATH = /^\/handover#([\w-]{43})$/

let running: Running
let now: number
beforeEach(async () => {
  now = NOW
  running = await startAdmin({ now: () => now })
})

const make = (body: object = {}) =>
  running.call('POST', '/api/tokens', { body: { user: 'alice', name: 'laptop', handover: true, ...body } })
/** By somebody without a sign-in. */
const open = (code: string, headers = {}) =>
  running.call('POST', '/api/handover', { body: { code }, headers: { authorization: '', ...headers } })

async function link(body: object = {}): Promise<{ readonly id: string; readonly code: string }> {
  const { json } = await make(body)
  return { id: json.id, code: PATH.exec(json.handover.path)?.[1] ?? '' }
}

test('a link shows the key once, to somebody without a sign-in, and whoever made it never sees the key', async () => {
  const made = await make()
  expect([made.status, made.json.token, made.json.handover.expiresAt]).toEqual([
    201,
    undefined,
    new Date(NOW + DAY).toISOString(),
  ])
  const code = PATH.exec(made.json.handover.path)?.[1] ?? ''
  const opened = await open(code)
  expect(opened.json).toMatchObject({ user: 'alice', name: 'laptop', expiresAt: null })
  const [record] = await running.store.listTokens()
  expect(record?.hash).toBe(hashAccessKey(opened.json.token))
  expect(opened.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  expect((await open(code)).status).toBe(404)
})

test('a link is named in the audit by who made it, and when somebody opened it', async () => {
  const { id, code } = await link()
  await open(code)
  const { entries } = (await running.call('GET', '/api/audit')).json
  expect(entries).toMatchObject([
    { who: 'handover link', what: 'token_opened', subject: id, to: { user: 'alice', name: 'laptop' } },
    { who: 'admin', what: 'token_created', subject: id, to: { linkUntil: new Date(NOW + DAY).toISOString() } },
  ])
  expect(JSON.stringify(entries)).not.toContain(code)
  expect((await running.call('GET', '/api/audit?about=laptop&what=token_opened')).json.entries).toHaveLength(1)
  expect((await running.call('POST', `/api/audit/${entries[0].version}/undo`, { body: {} })).status).toBe(422)
})

test('a link may show the key that takes the place of another one, which is good for its grace meanwhile', async () => {
  const { json: old } = await running.call('POST', '/api/tokens', { body: { user: 'alice', name: 'laptop' } })
  const rotate = (body: object) => running.call('POST', `/api/tokens/${old.id}/rotate`, { body })
  expect((await rotate({ handover: '4m' })).json.problems).toMatchObject([{ path: 'handover' }])
  const { status, json } = await rotate({ grace: '7d', handover: '1h' })
  const { handover, token } = json
  const linkUntil = new Date(NOW + DAY / 24).toISOString()
  expect([status, token, handover.expiresAt]).toEqual([201, undefined, linkUntil])
  const opened = await open(PATH.exec(handover.path)?.[1] ?? '')
  const [made, replaced] = await running.store.findTokens([json.id, old.id])
  expect(made?.hash).toBe(hashAccessKey(opened.json.token))
  expect(replaced?.record?.expiresAt).toBe(NOW + 7 * DAY)
  const { entries } = (await running.call('GET', '/api/audit?what=token_created&limit=1')).json
  expect(entries).toMatchObject([{ subject: json.id, to: { linkUntil, replaces: { id: old.id } } }])
})

test.each([
  ['1h', true, 'grace: must be longer than the time of the link, 24h,'],
  ['24h', '24h', 'grace: must be longer than the time of the link, 24h,'],
  ['5m', '10m', 'grace: must be longer than the time of the link, 10m,'],
])(
  'a link in the place of a key that would end before it, with the grace %s and the link %s, is refused',
  async (grace, handover, msg) => {
    const { json: old } = await running.call('POST', '/api/tokens', { body: { user: 'alice', name: 'laptop' } })
    const { status, json } = await running.call('POST', `/api/tokens/${old.id}/rotate`, { body: { grace, handover } })
    expect([status, json.msg]).toEqual([400, expect.stringContaining(msg)])
    expect(await running.store.listTokens()).toHaveLength(1)
  },
)

test('a link in the place of a key leaves that key a day longer than the link, unless the key is to end at once', async () => {
  const ends = []
  for (const body of [
    { handover: true },
    { handover: '2d' },
    { handover: true, grace: '25h' },
    { handover: true, grace: '0m' },
    {},
  ]) {
    const { json: old } = await running.call('POST', '/api/tokens', { body: { user: 'alice', name: 'laptop' } })
    expect((await running.call('POST', `/api/tokens/${old.id}/rotate`, { body })).status).toBe(201)
    const [kept] = await running.store.findTokens([old.id])
    const { expiresAt, revokedAt } = kept?.record ?? {}
    ends.push(revokedAt ?? expiresAt)
  }
  const hours = ends.map((end) => ((end ?? Number.NaN) - NOW) / 3_600_000)
  expect(hours).toEqual([48, 72, 25, 0, 24])
})

test('a link that two open at once shows the key to one of them', async () => {
  const { code } = await link()
  const statuses = (await Promise.all([1, 2, 3, 4, 5].map(() => open(code)))).map(({ status }) => status)
  expect(statuses.sort()).toEqual([200, 404, 404, 404, 404])
})

test('a link is good for its time, and no longer than its key', async () => {
  const short = await link({ handover: '5m' })
  now += 5 * 60_000
  expect((await open(short.code)).status).toBe(404)
  const revoked = await link()
  await running.call('DELETE', `/api/tokens/${revoked.id}`, { body: {} })
  expect((await open(revoked.code)).status).toBe(404)
  const ended = await link({ expiresAt: new Date(now + 1000).toISOString() })
  now += 1000
  expect((await open(ended.code)).status).toBe(404)
  for (const handover of [false, '4m', '8d', '24', 24, '', null]) {
    expect([handover, (await make({ handover })).status]).toEqual([handover, 400])
  }
})

test('a link is opened by no look at it, and from no page of others', async () => {
  const { code } = await link()
  expect((await running.call('GET', '/api/handover', { headers: { authorization: '' } })).status).toBe(405)
  expect((await running.call('GET', `/api/handover?code=${code}`)).status).not.toBe(200)
  for (const headers of [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { host: 'evil.example' },
  ]) {
    expect((await open(code, headers)).status).toBe(403)
  }
  const form = {
    body: `code=${code}`,
    headers: { authorization: '', 'content-type': 'application/x-www-form-urlencoded' },
  }
  expect((await running.call('POST', '/api/handover', form)).status).toBe(415)
  expect((await open(code)).status).toBe(200)
})

test('a link that is guessed is refused as a wrong token is, ten times a minute, and the right one is opened', async () => {
  const { code } = await link()
  const wrong = (i: number) => `${String(i).padStart(2, '0')}${code.slice(2)}`
  const statuses = []
  for (let i = 0; i < 12; i++) statuses.push((await open(wrong(i))).status)
  expect(statuses).toEqual([...Array(10).fill(404), 429, 429])
  expect((await open(code)).status).toBe(200)
  for (const bad of ['', 'short', `${code}x`, `${code.slice(1)} `]) expect((await open(bad)).status).toBe(400)
})

test('a link is nothing that a reader of the store gets the key by', async () => {
  const { code } = await link()
  const kept = (await running.store.takeHandover(idOf(code))) ?? ''
  expect(kept).not.toContain('gw_')
  expect(Buffer.from(kept, 'base64url').toString('latin1')).not.toContain('gw_')
  // What is kept under one id is of no use under another one.
  const other = await link()
  await running.store.putHandover(idOf(other.code), kept, DAY)
  expect((await open(other.code)).status).toBe(404)
})

test('a link whose opening the store could not note is as before', async () => {
  let fails = true
  running = await startAdmin()
  const { change } = running.store
  const broken = {
    change: (...of: Parameters<typeof change>) =>
      fails && of[0].kind === 'token_opened'
        ? Promise.reject(new StoreError('cut', 'connection', 'no'))
        : change(...of),
  }
  const { store } = running
  const other = await startAdmin({ store, broken })
  const { code } = await link()
  const opened = () => other.call('POST', '/api/handover', { body: { code }, headers: { authorization: '' } })
  expect((await opened()).status).toBe(503)
  fails = false
  expect((await opened()).status).toBe(200)
})
