import { createHash } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import { guideTool } from '../../setup/guides-tools.ts'
import { ask, type Door } from '../ask.ts'
import { blockOf, HOST, type RunningGuide, startGuide } from '../page.ts'
import { startProgram } from '../program.ts'
import { askEverything } from '../questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from '../service.ts'

/** docs/guides/oauth2-proxy.md, with oauth2-proxy itself. Its users sign in by a password, which it checks without a provider. */

const USERS = ['alice', 'berta', 'carl', 'dora', 'emil', ...Array.from({ length: 40 }, (_, i) => `speller-${i}`)]
const PASSWORD = 'of all users'

function startOauth2Proxy(gateway: number): Promise<Service> {
  return startProgram(({ port, write }) => {
    const hash = createHash('sha1').update(PASSWORD).digest('base64')
    write('users', USERS.map((user) => `${user}:{SHA}${hash}\n`).join(''))
    const text = blockOf('oauth2-proxy', 'toml').replace(':8080', `:${gateway}`)
    write('oauth2-proxy.cfg', text.replace(/^https_address.*$/m, `http_address = "127.0.0.1:${port}"`))
    const args = [
      ...['--config=oauth2-proxy.cfg', '--htpasswd-file=users', '--skip-auth-route=GET=^/v1/items/open$'],
      ...['--provider=github', '--client-id=x', '--client-secret=y', '--email-domain=*'],
      ...[`--cookie-secret=${'0123456789abcdef'.repeat(2)}`, '--standard-logging=false', '--auth-logging=false'],
      '--request-logging=false',
    ]
    return { command: guideTool('oauth2-proxy'), args }
  })
}

let service: Service
let guide: RunningGuide
let proxy: Service
let door: Door
const as = (user: string) => ({ headers: { authorization: `Basic ${btoa(`${user}:${PASSWORD}`)}` } })

beforeAll(async () => {
  service = await startService('X-Forwarded-User')
  guide = await startGuide('oauth2-proxy', { upstream: service.port })
  proxy = await startOauth2Proxy(guide.door.port)
  door = { port: proxy.port, origin: `https://${HOST}` }
})

askEverything(() => ({ door, as, known: (user) => user, spellings: EXPRESS_SPELLINGS }))

it('believes none of the fields that oauth2-proxy lets a client say', async () => {
  const { headers } = as('emil')
  const lies = {
    'x-forwarded-user': 'root',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'http',
    'x-forwarded-port': '81',
    forwarded: 'host=evil.example',
  }
  const { text } = await ask(door, { path: '/v1/items', headers: { ...headers, ...lies } })
  const seen = JSON.parse(text) as Items
  expect([seen.user, seen.url]).toEqual(['emil', `https://${HOST}/v1/items`])
  expect(JSON.stringify(seen.headers)).not.toMatch(/evil|root|"81"/)
})

it('lets nobody name a user but oauth2-proxy', async () => {
  const headers = { 'x-forwarded-user': 'alice' }
  const open = await ask(door, { path: '/v1/items/open', headers })
  const aside = await ask(guide.door, { path: '/v1/items', headers, from: '127.0.0.9' })
  expect([open.status, aside.status]).toEqual([401, 401])
})

it('sends who is not signed in to oauth2-proxy', async () => {
  expect((await ask(door, { path: '/v1/items' })).text).toContain('/oauth2/start')
})
