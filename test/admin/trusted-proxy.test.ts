import { once } from 'node:events'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { type Running, startAdmin, TOKEN, YAML } from './running.ts'

let running: Running

const TRUSTED =
  '{ name: X-Forwarded-Email, groups: X-Forwarded-Groups, roles: { sre: admin, support: viewer }, from: [127.0.0.2, 10.0.0.0/8] }'
const YAML_WITH = YAML.replace('admin: { ', `admin: { trusted: ${TRUSTED}, `)
const PROXY = '127.0.0.2'
const ANN = { 'x-forwarded-email': 'ann@example.org', 'x-forwarded-groups': 'staff,sre' }
const FROM_PAGE = { 'sec-fetch-site': 'same-origin' }

async function start(): Promise<void> {
  running = await startAdmin({ yaml: YAML_WITH })
}

const get = (path: string, headers: Record<string, string>, from = PROXY) =>
  running.call('GET', path, { headers: { authorization: '', ...headers }, from })
const loosen = (headers: Record<string, string>, from = PROXY) =>
  running.call('PATCH', '/api/quota', { headers: { authorization: '', ...headers }, body: { mode: 'loose' }, from })

test('whom a trusted proxy names is in without a session, and the audit has the name', async () => {
  await start()
  const ann = { name: 'ann@example.org', role: 'admin', expiresAt: null }
  expect((await get('/api/session', ANN)).json).toEqual(ann)
  expect((await loosen({ ...ANN, ...FROM_PAGE })).status).toBe(200)
  expect((await running.call('GET', '/api/audit')).json.entries).toMatchObject([{ who: 'ann@example.org' }])
})

test('whom a trusted proxy names may only look with a group of viewers', async () => {
  await start()
  const desk = { ...ANN, 'x-forwarded-groups': ' support , staff' }
  expect((await get('/api/quota', desk)).status).toBe(200)
  expect(await loosen({ ...desk, ...FROM_PAGE })).toMatchObject({ status: 403, json: { error: 'forbidden' } })
})

test('whom a trusted proxy names without a role is told which field has what', async () => {
  await start()
  const sentences: [Record<string, string>, string][] = [
    [
      { ...ANN, 'x-forwarded-groups': 'dev,ops' },
      'You are ann@example.org, and have no role here: the field x-forwarded-groups has "dev", "ops", and admin.trusted.roles names none of that.',
    ],
    [
      { 'x-forwarded-email': 'ann@example.org' },
      'You are ann@example.org, and have no role here: the field x-forwarded-groups has nothing, and admin.trusted.roles names none of that.',
    ],
    [{ ...ANN, 'x-forwarded-email': 'admin' }, 'Your name "admin" is that of an admin token, or a word of the audit.'],
    [{ ...ANN, 'x-forwarded-email': '' }, 'The field x-forwarded-email gives you no name that can be used.'],
    ...['eve@example.org, ann@example.org', ', eve@example.org', 'eve@example.org,'].map(
      (email): [Record<string, string>, string] => [
        { ...ANN, 'x-forwarded-email': email },
        'The field x-forwarded-email gives you no name that can be used.',
      ],
    ),
  ]
  for (const [headers, msg] of sentences)
    for (const path of ['/api/session', '/api/quota'])
      expect(await raw(path, headers)).toMatchObject({ status: 403, json: { error: 'no_role', msg } })
})

test('whom a trusted proxy names changes nothing from the page of another site: a browser sends such a sign-in by itself', async () => {
  await start()
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.test' }])
    expect(await loosen({ ...ANN, ...(headers as Record<string, string>) })).toMatchObject({
      status: 403,
      json: { error: 'not_from_our_page' },
    })
  expect((await running.call('GET', '/api/quota')).json.mode).toBe('normal')
})

test('whom a trusted proxy names may have a name and groups beyond ASCII', async () => {
  await start()
  const zoe = { ...ANN, 'x-forwarded-email': Buffer.from('zoë@example.org').toString('latin1') }
  expect((await get('/api/session', zoe)).json).toMatchObject({ name: 'zoë@example.org' })
})

test('a field of a trusted proxy gives a stranger nothing, from any other address', async () => {
  await start()
  for (const from of ['127.0.0.1', '127.0.0.3']) {
    expect((await get('/api/session', ANN, from)).json).toEqual({ name: null, role: null, expiresAt: null })
    expect(await get('/api/quota', ANN, from)).toMatchObject({ status: 401, json: { error: 'unauthorized' } })
    const behind = { ...ANN, ...FROM_PAGE, 'x-forwarded-for': PROXY, 'x-real-ip': PROXY, forwarded: `for=${PROXY}` }
    expect(await loosen(behind, from)).toMatchObject({ status: 401 })
  }
})

test('a field of a trusted proxy does not help a wrong token, and a right one or a session goes before it', async () => {
  await start()
  expect(await get('/api/quota', { ...ANN, authorization: 'Bearer wrong' })).toMatchObject({ status: 401 })
  expect((await get('/api/session', { ...ANN, authorization: `Bearer ${TOKEN}` })).json.name).toBe('admin')
  const signedIn = await running.call('POST', '/api/session', {
    headers: { authorization: '' },
    body: { token: TOKEN },
  })
  const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  expect((await get('/api/session', { ...ANN, cookie })).json.name).toBe('admin')
})

test('a field of a trusted proxy takes no gateway out of service', async () => {
  running = await startAdmin({ yaml: YAML_WITH, drain: { isOn: () => false, turn: () => {} } })
  const reply = await running.call('POST', '/drain', { headers: { authorization: '', ...ANN }, from: PROXY })
  expect(reply.status).toBe(401)
})

test('a field of a trusted proxy is nobody without the key', async () => {
  running = await startAdmin()
  expect((await get('/api/quota', ANN)).status).toBe(401)
})

/** Node's client leaves an empty field out of `call`. */
async function raw(path: string, headers: Record<string, string>) {
  if (headers['x-forwarded-email'] !== '') return get(path, headers)
  const { url } = running
  const sent = request(new URL(path, url), { agent: false, localAddress: PROXY, headers }).end()
  const [response] = await once(sent, 'response')
  const chunks = await response.toArray()
  return { status: response.statusCode, json: JSON.parse(Buffer.concat(chunks).toString()) }
}
