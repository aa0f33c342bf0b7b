import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium, type Page } from 'playwright-core'
import { createScoreService } from '../../services/score/service.ts'
import { createApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { browserOf, LAUNCH, type OpenPage } from '../setup/browser.ts'
import { shrunk } from '../setup/png.ts'
import { type EarlierDays, earlierDays } from './earlier-days.ts'

/**
 * `npm run screenshots`: the pictures in docs/images. The gateway runs with the demo's configuration in front of the demo's
 * score service, on real traffic of two days, which go by in two minutes, and of one minute after them. On each day the service is not
 * there for a while, and for a while something else answers 500.
 */

const root = fileURLToPath(new URL('../../', import.meta.url))
const images = join(root, 'docs/images')
const ADMIN_TOKEN = 'admin-token-of-the-pictures'
const SECRET = 'backend-secret-of-the-pictures'
const LOOKS = [
  { name: 'wide-light', width: 1280, height: 900, most: 1300, dark: false },
  { name: 'wide-dark', width: 1280, height: 900, most: 1300, dark: true },
  { name: 'narrow-light', width: 390, height: 844, most: 1300, dark: false },
  { name: 'narrow-dark', width: 390, height: 844, most: 1300, dark: true },
] as const
const PLAYERS = 'alice bob carol dan erin frank grace heidi'.split(' ')
/** The zone of the demo, by which the days of the pictures go. */
const ZONE_HOURS = 8
const ORGANISATIONS = ['arcade-north', 'arcade-south', 'tournament'] as const

const home = await mkdtemp(join(tmpdir(), 'tollgate-screenshots-'))
const backend = await startUpstream()
let app: Awaited<ReturnType<typeof startGateway>>
let players: readonly Player[] = []
await earlierDays({ days: 2, seconds: 120 }, async (past) => {
  app = await startGateway(backend.url)
  players = await makePlayers()
  const played = players.map((player) => playEarlier(past, player))
  await failEarlier(past)
  await Promise.all(played)
  await app.stop()
  forgetSilences()
})
app = await startGateway(backend.url)
const browser = browserOf(await chromium.launch(LAUNCH))
const traffic = new AbortController()
const playing: Promise<void>[] = []
try {
  for (const name of await readdir(images)) if (name.endsWith('.png')) await rm(join(images, name))
  await administer()
  const views = await Promise.all(LOOKS.map(async (look) => ({ look, open: await signInAt(look) })))
  playing.push(...players.map(play))
  await sleep(70_000)
  for (const { look, open } of views) await takeAll(open, look)
} finally {
  traffic.abort()
  await Promise.all(playing)
  await browser.close()
  await app.stop()
  await backend.close()
  await rm(home, { recursive: true })
}
console.log(`${(await readdir(images)).filter((name) => name.endsWith('.png')).length} pictures are in docs/images.`)

/** The score service, which can be away or broken for a time, always on one port. */
async function startUpstream() {
  const open = async (port: number) => {
    const service = await createScoreService({
      database: join(home, 'score.db'),
      catalogue: join(root, 'config/score/catalogue.json'),
      backendSecret: SECRET,
    })
    return { service, ...(await service.listen({ host: '127.0.0.1', port })) }
  }
  let running = await open(0)
  const port = Number(new URL(running.url).port)
  return {
    url: running.url,
    async fail(how: 'gone' | 'broken', ms: number): Promise<void> {
      await running.service.close()
      const broken = http.createServer((req, res) => {
        res.statusCode = 500
        req.resume().on('end', () => res.end())
      })
      if (how === 'broken') broken.listen(port, '127.0.0.1')
      await sleep(ms)
      broken.closeAllConnections()
      broken.close()
      running = await open(port)
    },
    close: () => running.service.close(),
  }
}

async function startGateway(upstream: string) {
  process.chdir(root)
  const loaded = await loadConfig('config/demo.yaml', {
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_ADMIN_LISTEN: '127.0.0.1:0',
    TOLLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    TOLLGATE_UPSTREAM: upstream,
    TOLLGATE_STORE: `sqlite:${join(home, 'tollgate.db')}`,
    SCORE_BACKEND_SECRET: SECRET,
    TOLLGATE_JWT_SECRET: SECRET.repeat(2),
    // Named by the reference page, of which there is no picture.
    CHART_URL: 'http://127.0.0.1:9002',
    SYNC_URL: 'http://127.0.0.1:9001',
    TOLLGATE_LOG_REQUESTS: 'none',
  })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const made = await createApp({ config: loaded.config, hash: loaded.hash, version: '0.1.0', observe: () => {} })
  return { ...(await made.start()), stop: () => made.stop() }
}

/** A text is a file of overrides, anything else is sent as JSON. */
async function api(method: string, path: string, body?: unknown): Promise<string> {
  const isFile = typeof body === 'string'
  const response = await fetch(app.admin + path, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': isFile ? 'application/x-ndjson' : 'application/json',
    },
    body: isFile ? body : JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text
}

interface Player {
  readonly token: string
  /** Each comes from an address of its own, or they would look like a load balancer that is not trusted. */
  readonly address: string
  /** The first ask most. */
  readonly number: number
}

async function makePlayers(): Promise<Player[]> {
  const made = PLAYERS.map(async (user, number) => {
    const name = ['phone', 'bot', 'web'][number % 3] ?? 'web'
    const organisation = ORGANISATIONS[number % ORGANISATIONS.length]
    const { token } = JSON.parse(await api('POST', '/api/tokens', { user, name, organisation })) as { token: string }
    return { token, address: `127.0.0.${10 + number}`, number }
  })
  return Promise.all(made)
}

/** Something for the audit and for the colours of the settings. */
async function administer(): Promise<void> {
  const inADay = new Date(Date.now() + 86_400_000).toISOString()
  await api('PATCH', '/api/quota', { global: { multiplier: 0.25 }, reason: 'the database is being moved' })
  await api('PUT', '/api/users/alice/override', {
    read: { '1h': 300, '5h': 900 },
    reason: 'plays at the tournament',
    expiresAt: inADay,
  })
  await api('PUT', '/api/users/bob/override', {
    write: { '1h': 15 },
    reason: 'a bot that writes too much',
    expiresAt: null,
  })
  await api('POST', '/api/users/carol/reset', { reason: 'paid for our mistake' })
  await api('PATCH', '/api/quota', {
    baselines: { personal: { write: { '1h': 80 } } },
    reason: 'asked for by the players',
  })
  await administerTogether(inADay)
}

/** Changes of many at once, and those that gateways make by themselves. */
async function administerTogether(inADay: string): Promise<void> {
  await api('PUT', '/api/organisations/arcade-north/override', {
    read: { '1h': 1000, '1d': 8000 },
    write: { '1h': 500 },
    reason: 'one contract for all machines',
    expiresAt: inADay,
  })
  await api('PUT', '/api/organisations/tournament/override', { read: { '1h': 400 }, reason: 'the final' })
  const { version } = JSON.parse(await api('PATCH', '/api/quota', { mode: 'loose', reason: 'the final' })) as {
    version: number
  }
  await api('POST', `/api/audit/${version}/undo`, { reason: 'the final is tomorrow' })
  const file = [
    { user: 'dan', read: { '1h': 200 }, reason: 'tests a client' },
    { user: 'erin', plan: 'bot', reason: 'moves her scores', expiresAt: inADay },
  ]
  await api('PUT', '/api/overrides?merge=1&reason=the+season', file.map((line) => JSON.stringify(line)).join('\n'))
  const until = new Date(Date.now() + 4000).toISOString()
  await api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 240 } } }, until, reason: 'a short event' })
  await entryBy('schedule')
  await api('PATCH', '/api/quota', {
    baselines: { personal: { read: { '5h': 500 } } },
    guard: { for: '10s', refused: '5%' },
    reason: 'more for the evening',
  })
  await entryBy('guard')
}

/** A gateway makes it about two seconds after its time. */
async function entryBy(who: string): Promise<void> {
  for (let seconds = 0; seconds < 60; seconds++) {
    const { entries } = JSON.parse(await api('GET', '/api/audit')) as { entries: readonly { who: string }[] }
    if (entries.some((entry) => entry.who === who)) return
    await sleep(1000)
  }
  throw new Error(`the audit has no entry by ${who}`)
}

/** Of a gateway that says every second that it is there, some hours seem to have been silent. */
function forgetSilences(): void {
  const database = new DatabaseSync(join(home, 'tollgate.db'))
  database.exec('DELETE FROM silences')
  database.close()
}

/** On both days the service is away in the afternoon, and answers 500 in the evening. */
async function failEarlier(past: EarlierDays): Promise<void> {
  for (const day of [1, 0]) {
    await past.until(day + 0.42)
    await backend.fail('gone', 900)
    await past.until(day + 0.15)
    await backend.fail('broken', 600 + day * 1200)
  }
}

/** A player of the days before, who asks most in the evening. */
async function playEarlier(past: EarlierDays, player: Player): Promise<void> {
  for (let i = player.number; !past.isOver(); i++) {
    const hour = new Date(Date.now() + ZONE_HOURS * 3_600_000).getUTCHours()
    const evening = Math.max(0, Math.sin(((hour - 11) / 12) * Math.PI)) ** 2
    await ask(player, i)
    await sleep(25 / ((0.08 + evening) * (1 - player.number / 10)))
  }
}

/** A player of the present, until the traffic is ended. */
async function play(player: Player): Promise<void> {
  for (let i = player.number; !traffic.signal.aborted; i++) {
    await ask(player, i)
    await sleep(600 + player.number * 300)
  }
}

/** One request of a player, now and then for something that is not there. */
function ask(player: Player, i: number): Promise<void> {
  if (i % 9 === 4) {
    return send(player, '/v1/music/upsert', { musicId: 11466, level: 3, achievement: 100.5, dxScore: 2800 })
  }
  if (i % 40 === 7) return send(player, '/v1/user/trophy', {})
  return send(player, i % 2 === 0 ? '/v1/user/preview' : '/v1/user/data', {})
}

function send({ token, address }: Player, path: string, body: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    http
      .request(app.gateway + path, { method: 'POST', headers, localAddress: address }, (response) =>
        response.resume().once('close', resolve),
      )
      .once('error', reject)
      .end(JSON.stringify(body))
  })
}

type Look = (typeof LOOKS)[number]

async function signInAt(look: Look): Promise<OpenPage> {
  const open = await browser.open(look)
  await open.page.goto(app.admin)
  await open.page.locator('.sign-in input').waitFor()
  await take(open.page, 'sign-in', look)
  await open.page.locator('.sign-in input').fill(ADMIN_TOKEN)
  await open.page.locator('.sign-in button[type="submit"]').click()
  await open.page.locator('main h1').waitFor()
  return open
}

async function takeAll({ page }: OpenPage, look: Look): Promise<void> {
  await take(page, 'overview', look)
  await goTo(page, 'errors')
  await take(page, 'errors', look)
  await goTo(page, 'limits')
  await take(page, 'limits', look)
  await page.getByRole('radio', { name: 'Conservative' }).check()
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  const preview = page.locator('.preview')
  await preview.waitFor()
  await preview.evaluate((element) => element.scrollIntoView())
  await write('preview', look, await page.screenshot())
  await goTo(page, 'users')
  await take(page, 'users', look)
  await goTo(page, 'users/alice')
  await take(page, 'user', look)
  await goTo(page, 'organisations')
  await take(page, 'organisations', look)
  await goTo(page, 'organisations/arcade-north')
  await take(page, 'organisation', look)
  for (const name of ['refusals', 'routes', 'keys', 'audit']) {
    await goTo(page, name)
    await take(page, name, look)
  }
}

async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = '#/${hash}'`)
  await page.locator('main .panel').first().waitFor()
  await page.locator('main .mantine-Skeleton-root').first().waitFor({ state: 'detached' })
}

/** The page from its top, as far down as a picture goes. */
async function take(page: Page, name: string, look: Look): Promise<void> {
  await page.evaluate('document.activeElement?.blur?.()')
  await page.mouse.move(0, 0)
  const full = Number(await page.evaluate('document.documentElement.scrollHeight'))
  const clip = { x: 0, y: 0, width: look.width, height: Math.min(full, look.most) }
  await write(name, look, await page.screenshot({ clip, fullPage: true }))
}

async function write(name: string, look: Look, png: Buffer): Promise<void> {
  await writeFile(join(images, `${name}-${look.name}.png`), shrunk(png))
}
