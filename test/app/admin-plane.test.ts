import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { setupOf } from '../../src/app/admin-plane.ts'
import type { QuotaResponse } from '../../src/contract/api.ts'
import { startApp, understood, yaml } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'

const ROUTES = `
unmatched: { category: read, cost: 4 }
routes:
  - { match: GET /open, public: true, health: false }
  - { match: GET /trial, category: read, cost: 1, shadow: true }
  - { match: GET /free, category: write, cost: 0 }
  - { match: GET /cheap, category: write, cost: 3 }
  - { match: GET /dear, category: write, cost: 9 }
  - { match: GET /probe, public: true, health: true }
`

it('what administrators see of a configuration has the least that a request of a category costs which the quota may refuse, wherever its route stands', () => {
  const { cheapest } = setupOf(understood(yaml('http://127.0.0.1:1', ROUTES)).config)
  expect(Object.fromEntries(cheapest)).toEqual({ read: 4, write: 3 })
})

it('what administrators see of a configuration has its store by kind, what becomes of requests without a route, and which routes count for health', () => {
  const setup = setupOf(understood(yaml('http://127.0.0.1:1', ROUTES, 'redis://127.0.0.1:1')).config)
  expect(setup).toMatchObject({ store: 'redis', unmatched: 'charge', upstream: 'http://127.0.0.1:1' })
  expect(setup.routes.map(({ health, shadow }) => [health, shadow])).toEqual([
    [false, false],
    [true, true],
    [false, false],
    [true, false],
    [true, false],
    [true, false],
  ])
})

it('administrators see the configuration in force, also after a reload', async () => {
  const config = (mode: string) => yaml('http://127.0.0.1:1', `quota: { mode: ${mode} }`)
  const app = await startApp(config('loose'))
  const mode = async () => {
    const headers = { authorization: 'Bearer test-admin-token-0001' }
    const response = await fetch(`${app.admin}/api/quota`, { headers })
    return ((await response.json()) as QuotaResponse).file.mode
  }
  expect(await mode()).toBe('loose')
  await app.reload(config('conservative'))
  expect(await mode()).toBe('conservative')
})

it('the admin listener lets in the names of admin.hosts, and no other', async () => {
  const text = yaml('http://127.0.0.1:1', '').replace('admin: { ', 'admin: { hosts: [Ops.example.org], ')
  const app = await startApp(text)
  const status = async (host: string) => {
    const asked = request(`${app.admin}/openapi.json`, { headers: { host } }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  expect(await status('ops.example.org')).toBe(200)
  expect(await status('other.example.org')).toBe(403)
})

it('an admin token that was replaced in the file of a secret holds from the next reload on, and the old one no more', async () => {
  const folder = tempFolder()
  const [file, old, next] = [
    join(folder, 'token'),
    'an-old-token-of-32-characters-00',
    'the-new-token-of-32-characters-0',
  ]
  writeFileSync(file, `${old}\n`)
  const text = yaml('http://127.0.0.1:1', '').replace('test-admin-token-0001', `"\${file:${file}}"`)
  const app = await startApp(text)
  const status = async (token: string) =>
    (await fetch(`${app.admin}/api/quota`, { headers: { authorization: `Bearer ${token}` } })).status
  expect([await status(old), await status(next)]).toEqual([200, 401])
  writeFileSync(file, `${next}\n`)
  await app.reload(text)
  expect([await status(old), await status(next)]).toEqual([401, 200])
})
