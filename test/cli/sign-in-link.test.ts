import { afterEach, expect, test } from 'vitest'
import { linkFor } from '../../src/cli/sign-in-link.ts'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'

const TERMINAL = { isTTY: true }
const TOKEN = 'test-admin-token-0001'

let app: RunningApp | null = null
afterEach(async () => {
  app = null
})

/** A gateway with such an `admin` section, and the link that a terminal gets of it. */
async function linkOf(admin: string): Promise<string | null> {
  app = await startApp(yaml('http://127.0.0.1:1', '').replace(/^admin: .*$/m, `admin: ${admin}`))
  return linkFor(TERMINAL, { gateway: app.url, admin: app.admin, signInCode: app.app.signInCode })
}

function signIn(link: string): Promise<Response> {
  const { origin, hash } = new URL(link)
  const code = new URLSearchParams(hash.slice(hash.indexOf('?'))).get('code')
  const headers = { 'content-type': 'application/json' }
  return fetch(`${origin}/api/session`, { method: 'POST', headers, body: JSON.stringify({ code }) })
}

test('at a terminal the link of a gateway signs in as admin.token, once', async () => {
  const link = await linkOf(`{ listen: "127.0.0.1:0", token: ${TOKEN} }`)
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\?code=[\w-]{43}$/)
  const response = await signIn(link as string)
  expect(await response.json()).toMatchObject({ name: 'admin', role: 'admin' })
  expect((await signIn(link as string)).status).toBe(401)
})

test('a gateway that listens on all addresses is reached by the loopback one', async () => {
  const link = await linkOf(`{ listen: "0.0.0.0:0", token: ${TOKEN} }`)
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#/)
  expect((await signIn(link as string)).status).toBe(200)
})

test.each([
  ['there is no admin token', '{ listen: "127.0.0.1:0" }'],
  ['all admin tokens are of somebody', `{ listen: "127.0.0.1:0", tokens: [{ name: ops, token: ${TOKEN} }] }`],
  [
    'the token of this name only looks',
    `{ listen: "127.0.0.1:0", tokens: [{ name: admin, role: viewer, token: ${TOKEN} }] }`,
  ],
])('no link is made if %s', async (_, admin) => {
  expect(await linkOf(admin)).toBeNull()
})

test.each([
  ['http://0.0.0.0:9090', 'http://127.0.0.1:9090/#/sign-in?code=x'],
  ['http://[::]:9090', 'http://[::1]:9090/#/sign-in?code=x'],
  ['https://10.1.2.3:9090', 'https://10.1.2.3:9090/#/sign-in?code=x'],
  ['http://127.0.0.1:80', 'http://127.0.0.1/#/sign-in?code=x'],
])('the link of %s is %s', (admin, link) => {
  expect(linkFor(TERMINAL, { gateway: '', admin, signInCode: () => 'x' })).toBe(link)
})

test('for anything but a terminal no code is made', () => {
  let made = 0
  const started = { gateway: '', admin: 'http://127.0.0.1:9090', signInCode: () => `x${++made}` }
  expect([linkFor({}, started), linkFor({ isTTY: false }, started), made]).toEqual([null, null, 0])
})
