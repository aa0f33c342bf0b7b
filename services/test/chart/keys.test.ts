import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { ADMIN, chartsFolder, SAMPLE, startCharts } from './harness.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'
const GATEWAY_TOKEN = 'gw_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK'
const UNAUTHORIZED = '{"message":"Unauthorized"}'

const CHART_PATHS = [
  '/api/v1/charts',
  '/api/v1/charts/1466:dx:5',
  '/api/v1/charts/1466:dx:5/notes',
  '/api/v1/charts/1466:dx:5/maidata',
  '/api/v1/charts/1466:dx:5/preview.svg',
  '/api/v1/charts/no:such:chart',
]

describe('charts', () => {
  it.each(CHART_PATHS)('%s is for API keys alone, and refuses everything else in the same words', async (path) => {
    const { ask, admin, service, url } = await startCharts()
    const revoked = await service.createKey('revoked')
    await admin(`/api/v1/api-keys/${revoked.id}`, { method: 'DELETE' })
    const tokens = [null, '', 'mk_live_8Jq0Zl3o', `mk_live_${'x'.repeat(32)}`, revoked.key, GATEWAY_TOKEN, JWT, ADMIN]
    const responses = [
      ...(await Promise.all(tokens.map((token) => ask(path, { token })))),
      await ask(path, { token: null, headers: { 'bot-token': 'bot-secret' } }),
      await ask(path, { token: null, headers: { authorization: `Basic ${ADMIN}` } }),
      await ask(path, { token: null, headers: { 'x-api-key': (await service.createKey('elsewhere')).key } }),
    ]
    for (const { status, text } of responses) expect([status, text]).toEqual([401, UNAUTHORIZED])
    const names = responses.map(({ headers }) => [...headers.keys()].join())
    expect(new Set(names).size).toBe(1)
    expect(responses[0]?.headers.get('www-authenticate')).toBe('Bearer')
    expect(url).toContain('127.0.0.1')
  })

  it('charts are open to a key in any spelling of the scheme', async () => {
    const { ask, key } = await startCharts()
    for (const authorization of [`Bearer ${key}`, `bearer  ${key}`]) {
      expect((await ask('/api/v1/charts', { token: null, headers: { authorization } })).status).toBe(200)
    }
    expect((await ask('/api/v1/charts', { token: `${key}x` })).status).toBe(401)
    expect((await ask('/api/v1/charts', { token: key.toLowerCase() })).status).toBe(401)
  })

  it('charts are not served at another spelling of their path', async () => {
    const { ask } = await startCharts()
    for (const path of [
      '/api/v1/%63harts',
      '/api/v1/charts/1466%3Adx%3A5',
      '/api/v1/charts/',
      '/api//v1/charts',
      '/%61pi/v1/charts',
      `/api/v1/charts/${'x'.repeat(5000)}`,
    ]) {
      expect((await ask(path, { token: null })).status).toBe(401)
    }
  })
})

it('API keys are managed with the administrator secret alone', async () => {
  const { ask, key, id } = await startCharts()
  for (const token of [null, key, GATEWAY_TOKEN, JWT, `${ADMIN}x`, ADMIN.slice(1)]) {
    for (const [method, path] of [
      ['GET', '/api/v1/api-keys'],
      ['POST', '/api/v1/api-keys'],
      ['DELETE', `/api/v1/api-keys/${id}`],
    ] as const) {
      const { status, text } = await ask(path, { method, token, ...(method === 'POST' && { body: { name: 'x' } }) })
      expect([status, text]).toEqual([401, UNAUTHORIZED])
    }
  }
  expect((await ask('/api/v1/charts')).status).toBe(200)
})

it('API keys are shown once, listed without themselves, and refused as soon as they are revoked', async () => {
  const { ask, admin } = await startCharts()
  const { json: made } = await admin('/api/v1/api-keys', { method: 'POST', body: { name: ' Second ' } })
  expect((await ask('/api/v1/charts', { token: made.key })).status).toBe(200)
  const { json: listed, text } = await admin('/api/v1/api-keys')
  expect(listed.items).toEqual([
    expect.objectContaining({ name: 'tests' }),
    { id: made.id, name: 'Second', prefix: made.prefix, createdAt: '2026-08-06T14:06:26.000Z' },
  ])
  expect(text).not.toContain(made.key)
  expect((await admin(`/api/v1/api-keys/${made.id}`, { method: 'DELETE' })).status).toBe(204)
  expect((await ask('/api/v1/charts', { token: made.key })).status).toBe(401)
  expect((await admin('/api/v1/api-keys')).json.items).toHaveLength(1)
  const again = await admin(`/api/v1/api-keys/${made.id}`, { method: 'DELETE' })
  expect([again.status, again.text]).toEqual([404, '{"message":"Resource not found"}'])
})

it('API keys are revoked also by a client that says JSON and sends no body', async () => {
  const { admin, id } = await startCharts()
  const headers = { 'content-type': 'application/json' }
  expect((await admin(`/api/v1/api-keys/${id}`, { method: 'DELETE', headers })).status).toBe(204)
  const { json: second } = await admin('/api/v1/api-keys', { method: 'POST', body: { name: 'second' } })
  const revoked = await admin(`/api/v1/api-keys/${second.id}`, { method: 'DELETE', body: '' })
  expect(revoked.status).toBe(204)
  expect((await admin('/api/v1/api-keys')).json.items).toEqual([])
})

it('API keys are no two alike', async () => {
  const { service } = await startCharts()
  const made = await Promise.all(Array.from({ length: 50 }, () => service.createKey('same')))
  expect(new Set(made.map(({ key }) => key)).size).toBe(50)
})

it('API keys outlive the process and are nowhere in the file', async () => {
  const database = join(tempFolder(), 'chart.db')
  const charts = chartsFolder({ 11466: SAMPLE })
  const first = await startCharts({ database, charts })
  const second = await startCharts({ database, charts })
  expect((await second.ask('/api/v1/charts', { token: first.key })).status).toBe(200)
  const bytes = ['', '-wal'].map((end) => readFileSync(database + end, 'latin1')).join('')
  expect(bytes).toContain(first.id)
  expect(bytes).not.toContain(first.key)
  expect(bytes).not.toContain(ADMIN)
})

it.each([
  ['{', 'the body is not valid JSON'],
  ['[]', 'expected object'],
  ['{}', 'name: expected 1 to 64 characters'],
  ['{"name": 5}', 'name: expected 1 to 64 characters'],
  ['{"name": "  "}', 'name: expected 1 to 64 characters'],
  [JSON.stringify({ name: 'x'.repeat(65) }), 'name: expected 1 to 64 characters'],
  ['{"name": "a\\nb"}', 'name: has control characters'],
  ['{"name": "a\\ud800b"}', 'name: has half of a surrogate pair'],
  ['{"name": "x", "more": 1}', 'more: unknown; leave it out'],
])('API keys are not made of %s', async (body, told) => {
  const { admin } = await startCharts()
  const { status, json } = await admin('/api/v1/api-keys', { method: 'POST', body })
  expect([status, json.message]).toEqual([400, expect.stringContaining(told)])
  expect((await admin('/api/v1/api-keys')).json.items).toHaveLength(1)
})

it('API keys are not made of a body that is too large or of another type', async () => {
  const { admin } = await startCharts()
  const large = await admin('/api/v1/api-keys', { method: 'POST', body: { name: 'x'.repeat(20_000) } })
  expect([large.status, large.json.message]).toEqual([413, 'The body is too large'])
  const text = await admin('/api/v1/api-keys', {
    method: 'POST',
    body: 'name=x',
    headers: { 'content-type': 'text/plain' },
  })
  expect([text.status, text.json.message]).toEqual([400, 'Content-Type must be application/json'])
})
