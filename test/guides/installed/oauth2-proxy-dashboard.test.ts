import { beforeAll, expect, it } from 'vitest'
import { CLIENT_SECRET, type PeopleProvider, startPeopleProvider } from '../../admin/people-provider.ts'
import { type RunningApp, startApp, yaml } from '../../e2e/harness.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { startProgram } from '../program.ts'
import type { Service } from '../service.ts'

/** docs/dashboard.md: administrators sign in at oauth2-proxy, which stands before the dashboard, and it at a provider. */

let provider: PeopleProvider
let app: RunningApp
let proxy: Service
let origin: string
beforeAll(async () => {
  provider = await startPeopleProvider()
  provider.serveFor('http://127.0.0.1:1')
  const trusted =
    '{ name: X-Forwarded-Email, groups: X-Forwarded-Groups, roles: { sre: admin, support: viewer }, from: [127.0.0.1] }'
  app = await startApp(yaml('http://127.0.0.1:1', '').replace('admin: { ', `admin: { trusted: ${trusted}, `))
  proxy = await startProgram(({ port }) => ({
    command: guideTool('oauth2-proxy'),
    args: [
      ...['--provider=oidc', `--oidc-issuer-url=${provider.issuer}`, '--client-id=tollgate'],
      ...[`--client-secret=${CLIENT_SECRET}`, `--redirect-url=http://127.0.0.1:${port}/oauth2/callback`],
      ...['--scope=openid email groups', '--code-challenge-method=S256', '--skip-provider-button', '--email-domain=*'],
      ...[`--http-address=127.0.0.1:${port}`, `--upstream=${app.admin}`, '--cookie-secure=false'],
      ...[`--cookie-secret=${'0123456789abcdef'.repeat(2)}`, '--standard-logging=false', '--auth-logging=false'],
      '--request-logging=false',
    ],
  }))
  origin = `http://127.0.0.1:${proxy.port}`
  provider.serveFor(`${origin}/oauth2/callback`)
})

/** A browser, with the cookies of each host. */
function browser() {
  const jars = new Map<string, Map<string, string>>()

  async function once(url: string, init: RequestInit): Promise<Response> {
    const { host } = new URL(url)
    const jar = jars.get(host) ?? new Map<string, string>()
    jars.set(host, jar)
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      jar.set(name, value)
    }
    return response
  }

  return async function ask(path: string, init: RequestInit = {}): Promise<{ status: number; json: unknown }> {
    let [url, response] = [origin + path, await once(origin + path, init)]
    for (let hops = 0; hops < 12 && response.headers.has('location'); hops++) {
      url = new URL(response.headers.get('location') ?? '', url).href
      response = await once(url, {})
    }
    const text = await response.text()
    return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : text }
  }
}

const change = (headers: Record<string, string>): RequestInit => ({
  method: 'PATCH',
  headers: { 'content-type': 'application/json', origin, 'sec-fetch-site': 'same-origin', ...headers },
  body: '{ "mode": "loose" }',
})

it('who signs in at oauth2-proxy changes limits under the own name, and may only look as a viewer', async () => {
  provider.who = { sub: 'ann', email: 'ann@example.org', email_verified: true, groups: ['staff', 'sre'] }
  const ann = browser()
  const session = { name: 'ann@example.org', role: 'admin', expiresAt: null }
  expect(await ann('/api/session')).toEqual({ status: 200, json: session })
  expect(await ann('/api/quota', change({ 'sec-fetch-site': 'cross-site' }))).toMatchObject({ status: 403 })
  expect(await ann('/api/quota', change({}))).toMatchObject({ status: 200 })
  const { json } = await ann('/api/audit')
  expect(json).toMatchObject({ entries: [{ who: 'ann@example.org' }] })
  provider.who = { sub: 'bob', email: 'bob@example.org', email_verified: true, groups: ['support'] }
  const bob = browser()
  expect(await bob('/api/session')).toMatchObject({ json: { name: 'bob@example.org', role: 'viewer' } })
  expect(await bob('/api/quota', change({}))).toMatchObject({ status: 403, json: { error: 'forbidden' } })
})

it('who signs in at oauth2-proxy without a group of administrators is told so, whatever fields are sent with it', async () => {
  provider.who = { sub: 'eve', email: 'eve@example.org', email_verified: true, groups: ['dev'] }
  const eve = browser()
  const lies = { 'x-forwarded-email': 'ann@example.org', 'x-forwarded-groups': 'sre' }
  for (const headers of [{}, lies]) {
    const { status, json } = await eve('/api/session', { headers: headers as Record<string, string> })
    expect([status, json]).toMatchObject([403, { error: 'no_role', msg: expect.stringContaining('has "dev"') }])
  }
  expect(await eve('/api/quota', change(lies))).toMatchObject({ status: 403, json: { error: 'no_role' } })
})

it('whom oauth2-proxy has not signed in is sent to the provider', async () => {
  const response = await fetch(`${origin}/api/session`, { redirect: 'manual' })
  expect([response.status, response.headers.get('location')]).toEqual([302, expect.stringContaining(provider.issuer)])
})
