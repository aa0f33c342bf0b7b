import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksIn } from '../../docs/blocks.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { accepts, freePort } from '../../setup/redis.ts'
import { ask, type Door } from '../ask.ts'
import { HOST, type RunningGuide, startGuide } from '../page.ts'
import { askEverything } from '../questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from '../service.ts'

/** docs/guides/oauth2-proxy.md, with oauth2-proxy itself. Its users sign in by a password, which it checks without a provider. */

const USERS = ['alice', 'berta', 'carl', 'dora', 'emil', ...Array.from({ length: 40 }, (_, i) => `speller-${i}`)]
const PASSWORD = 'of all users'

async function startOauth2Proxy(gateway: number): Promise<Service> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-oauth2-proxy-'))
  const hash = createHash('sha1').update(PASSWORD).digest('base64')
  writeFileSync(join(folder, 'users'), USERS.map((user) => `${user}:{SHA}${hash}\n`).join(''))
  const page = readFileSync('docs/guides/oauth2-proxy.md', 'utf8')
  const { text } = blocksIn(page).find(({ language }) => language === 'toml') ?? { text: '' }
  const moved = text.replace(/^https_address.*$/m, `http_address = "127.0.0.1:${port}"`).replace(':8080', `:${gateway}`)
  writeFileSync(join(folder, 'oauth2-proxy.cfg'), moved)
  const args = [
    `--config=${join(folder, 'oauth2-proxy.cfg')}`,
    `--htpasswd-file=${join(folder, 'users')}`,
    '--skip-auth-route=GET=^/v1/items/open$',
    ...['--provider=github', '--client-id=x', '--client-secret=y', '--email-domain=*'],
    `--cookie-secret=${'0123456789abcdef'.repeat(2)}`,
  ]
  const child = spawn(guideTool('oauth2-proxy'), args, { stdio: 'ignore' })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 1000) throw new Error(`oauth2-proxy did not start: ${child.exitCode}`)
    await sleep(25)
  }
  return {
    port,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true })
    },
  }
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
afterAll(async () => {
  await proxy.stop()
  await guide.stop()
  await service.stop()
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
