import { expect, test } from 'vitest'
import type { AdminToken } from '../../src/admin/session-cookie.ts'
import { NOW, type Running, startAdmin, TOKEN, YAML } from './running.ts'

const OWN: AdminToken = { name: 'admin', role: 'admin', token: TOKEN }
const MINUTES = 60_000
const noToken = { authorization: '' }

let running: Running
let clock = NOW
async function start(yaml = YAML): Promise<void> {
  clock = NOW
  running = await startAdmin({ yaml, now: () => clock })
}

const post = (body: unknown, headers: Record<string, string> = {}) =>
  running.call('POST', '/api/session', { headers: { ...noToken, ...headers }, body })
const whose = async (cookie: string) =>
  (await running.call('GET', '/api/session', { headers: { ...noToken, cookie } })).json.name

const NO_MORE = {
  status: 401,
  json: { error: 'unauthorized', msg: expect.stringMatching(/older than 10 minutes.*admin token.*new link/) },
}

test('the code of a sign-in link gives a session of the admin token once, and then says how to go on', async () => {
  await start()
  const code = running.login.issueCode(OWN)
  expect(code).toMatch(/^[\w-]{43}$/)
  const { status, json, headers } = await post({ code })
  expect(status).toBe(200)
  expect(json).toEqual({ name: 'admin', role: 'admin', expiresAt: '2026-11-20T22:10:00.000Z' })
  const [line = ''] = headers['set-cookie'] ?? []
  expect(line).toMatch(/^tollgate_session=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/)
  const reply = await post({ code })
  expect(reply).toMatchObject(NO_MORE)
  expect(reply.headers['set-cookie']).toBeUndefined()
})

test.each([
  ['nothing', {}],
  ['a token and what a provider said', { token: TOKEN, returned: 'code=a&state=b' }],
  ['a token and a code', { token: TOKEN, code: 'a' }],
  ['a code and what a provider said', { code: 'a', returned: 'code=a&state=b' }],
])('a sign-in that sends %s hears of the three ways', async (_, body) => {
  await start()
  const { status, json } = await post(body)
  expect(status).toBe(400)
  expect(json.problems).toEqual([
    { path: '', msg: expect.stringMatching(/^must have one of token, code and returned: /) },
  ])
})

test('one of two requests with one code at the same time signs in', async () => {
  await start()
  const code = running.login.issueCode(OWN)
  const replies = await Promise.all([post({ code }), post({ code })])
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 401])
})

test.each([
  ['signs in until ten minutes are over', 10 * MINUTES - 1, 200],
  ['is good no more when ten minutes are over', 10 * MINUTES, 401],
  ['is good no more if the clock was set back', -1, 401],
])('a code %s', async (_, later, status) => {
  await start()
  const code = running.login.issueCode(OWN)
  clock += later
  expect((await post({ code })).status).toBe(status)
})

test('a new code ends the one before', async () => {
  await start()
  const [before, code] = [running.login.issueCode(OWN), running.login.issueCode(OWN)]
  expect(await post({ code: before })).toMatchObject(NO_MORE)
  expect((await post({ code })).status).toBe(200)
})

test('a listener that printed no link takes no code', async () => {
  await start()
  expect(await post({ code: 'A'.repeat(43) })).toMatchObject(NO_MORE)
})

test('a session by a code is good on another replica and after a restart, and ends when the admin token is replaced', async () => {
  await start()
  const reply = await post({ code: running.login.issueCode(OWN) })
  const [cookie = ''] = reply.headers['set-cookie']?.[0]?.split(';') ?? []
  await running.stop()
  await start()
  expect(await whose(cookie)).toBe('admin')
  await running.stop()
  await start(YAML.replace(TOKEN, `${TOKEN}-2`))
  expect(await whose(cookie)).toBeNull()
})

test('wrong codes are guesses like wrong tokens, and the right code signs in after any number of them', async () => {
  await start()
  const code = running.login.issueCode(OWN)
  for (let i = 0; i < 5; i++) expect((await post({ code: `wrong-${i}` })).status).toBe(401)
  for (let i = 0; i < 5; i++) expect((await post({ token: 'wrong' })).status).toBe(401)
  expect(await post({ code: 'wrong' })).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } })
  expect((await post({ token: 'wrong' })).status).toBe(429)
  expect((await post({ code })).status).toBe(200)
})

test('a page of another site does not use up a code', async () => {
  await start()
  const code = running.login.issueCode(OWN)
  expect(await post({ code }, { 'sec-fetch-site': 'cross-site' })).toMatchObject({
    status: 403,
    json: { error: 'not_from_our_page' },
  })
  expect((await post({ code })).status).toBe(200)
})

test.each([
  ['a number', 7],
  ['nothing in it', ''],
  ['more than 1024 characters', 'x'.repeat(1025)],
])('a code with %s is refused with the field', async (_what, code) => {
  await start()
  const problems = [{ path: 'code' }]
  expect(await post({ code })).toMatchObject({ status: 400, json: { error: 'bad_request', problems } })
})

test('a code is refused if no token is configured', async () => {
  await start(YAML.replace(/^admin:.*\n/m, ''))
  expect(await post({ code: 'x' })).toMatchObject({ status: 403, json: { error: 'no_admin_token' } })
})
