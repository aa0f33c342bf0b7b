import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLED_CHARTS, createChartService } from '../../services/chart/service.ts'
import { BUNDLED_CATALOGUE } from '../../services/music/catalogue.ts'
import { createScoreService } from '../../services/score/service.ts'
import { createSyncService } from '../../services/sync/service.ts'
import { openStore } from '../../src/app/stores.ts'
import { makeToken } from '../../src/cli/token.ts'
import { tempFolder } from '../setup/at-end.ts'
import { type RunningApp, startApp, understood, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** Every kind of credential at every service, in every place where one could be shown. */

const BACKEND_SECRET = 'the-secret-between-gateway-and-backend'
const BOT_TOKEN = 'the-bot-token-of-the-sync-service'
const CHART_SECRET = 'the-secret-of-the-chart-administrator'
const ADMIN_TOKEN = 'test-admin-token-0001'

interface GatewayResponse {
  readonly status: number
  /** Everything a stranger could learn from: headers but those that differ each time, and the body. */
  readonly seen: string
}

interface Place {
  readonly name: string
  readonly headers: (credential: string) => Record<string, string>
  readonly query?: (credential: string) => string
}

const AUTHORIZATION: Place = { name: 'Authorization', headers: (it) => ({ authorization: `Bearer ${it}` }) }
const BOT: Place = { name: 'Bot-Token', headers: (it) => ({ 'bot-token': it }) }
const BACKEND: Place = {
  name: 'X-Backend-Secret',
  headers: (it) => ({ 'x-backend-secret': it, 'x-tollgate-user': 'alice' }),
}
const PLACES: readonly Place[] = [
  AUTHORIZATION,
  BOT,
  BACKEND,
  { name: 'X-Api-Key', headers: (it) => ({ 'x-api-key': it }) },
  { name: 'Import-Token', headers: (it) => ({ 'import-token': it }) },
  { name: 'a cookie', headers: (it) => ({ cookie: `tollgate_session=${it}; jwt_token=${it}; token=${it}` }) },
  { name: 'the query', headers: () => ({}), query: (it) => `?token=${it}&access_token=${it}&key=${it}` },
]

/** What is accepted where; everything else is a stranger. */
const DIAGONAL: ReadonlyMap<string, { readonly place: Place; readonly credentials: readonly string[] }> = new Map([
  ['the gateway', { place: AUTHORIZATION, credentials: ['a JWT', 'an access key'] }],
  ['the admin API', { place: AUTHORIZATION, credentials: ['an admin token'] }],
  ['the score backend', { place: BACKEND, credentials: ['the upstream secret'] }],
  ['the network score-sync', { place: BOT, credentials: ['a Bot-Token'] }],
  ['the chart preview', { place: AUTHORIZATION, credentials: ['a chart key'] }],
  ['the keys of the chart preview', { place: AUTHORIZATION, credentials: ['the chart secret'] }],
])

const folder = tempFolder()
const closing: (() => Promise<unknown>)[] = []
const doors = new Map<string, { method: string; url: string; body?: string }>()
const credentials = new Map<string, string>()
let app: RunningApp

beforeAll(async () => {
  const score = await createScoreService({
    database: join(folder, 'score.db'),
    catalogue: BUNDLED_CATALOGUE,
    backendSecret: BACKEND_SECRET,
  })
  const sync = await createSyncService({
    database: join(folder, 'sync.db'),
    catalogue: BUNDLED_CATALOGUE,
    botTokens: [BOT_TOKEN],
  })
  const chart = await createChartService({
    database: join(folder, 'chart.db'),
    charts: BUNDLED_CHARTS,
    adminSecret: CHART_SECRET,
  })
  closing.push(score.close, sync.close, chart.close)
  const anywhere = { host: '127.0.0.1', port: 0 }
  const [scoreAt, syncAt, chartAt] = await Promise.all([score, sync, chart].map((each) => each.listen(anywhere)))

  const file = yaml(
    scoreAt?.url ?? '',
    'quota: { baselines: { personal: { read: { 1h: 100000 } }, global: { read: { 1h: 100000 } } } }\nroutes: [{ match: POST /v1/user/data, category: read, cost: 1 }]',
    `sqlite:${join(folder, 'tollgate.db')}`,
    `headers: { X-Backend-Secret: ${BACKEND_SECRET} }`,
  )
  app = await startApp(file)
  closing.push(app.stop)
  const store = await openStore(understood(file).config.store, () => {})
  const { token } = await makeToken(store, { user: 'alice', name: 'test', lifetime: null })
  await store.close()

  credentials.set('a JWT', jwtOf('alice'))
  credentials.set('an access key', token)
  credentials.set('an admin token', ADMIN_TOKEN)
  credentials.set('the upstream secret', BACKEND_SECRET)
  credentials.set('a Bot-Token', BOT_TOKEN)
  credentials.set('a chart key', (await chart.createKey('test')).key)
  credentials.set('the chart secret', CHART_SECRET)

  doors.set('the gateway', { method: 'POST', url: `${app.url}/v1/user/data`, body: '{}' })
  doors.set('the admin API', { method: 'GET', url: `${app.admin}/api/quota` })
  doors.set('the score backend', { method: 'POST', url: `${scoreAt?.url}/v1/user/data`, body: '{}' })
  doors.set('the network score-sync', {
    method: 'POST',
    url: `${syncAt?.url}/api/bot/sync`,
    body: '{"qq":123456789,"records":[{"song_id":837,"level_index":1,"achievements":101.0}]}',
  })
  doors.set('the chart preview', { method: 'GET', url: `${chartAt?.url}/api/v1/charts` })
  doors.set('the keys of the chart preview', { method: 'GET', url: `${chartAt?.url}/api/v1/api-keys` })
})

afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

let asked = 0

/** Each time from another address of the loopback, since wrong admin tokens hold up the address that they come from. */
async function ask(door: string, credential: string, place: Place): Promise<GatewayResponse> {
  const { method, url, body } = doors.get(door) ?? { method: '', url: '' }
  asked++
  const request = http.request(url + (place.query?.(credential) ?? ''), {
    method,
    agent: false,
    localAddress: `127.0.${1 + Math.floor(asked / 200)}.${1 + (asked % 200)}`,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...place.headers(credential) },
  })
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const chunks = await response.toArray()
  const { date, 'x-request-id': id, ...headers } = response.headers
  return { status: response.statusCode ?? 0, seen: JSON.stringify([headers, Buffer.concat(chunks).toString()]) }
}

/** A text of the same form as the credential, which nobody has given out. */
function strange(credential: string): string {
  return credential.replace(/[a-z]/g, (letter) =>
    letter === 'z' ? 'a' : String.fromCharCode(letter.charCodeAt(0) + 1),
  )
}

describe.each([...DIAGONAL])('%s', (door, { place: right, credentials: own }) => {
  it.each(own)('accepts %s where it belongs', async (kind) => {
    expect((await ask(door, credentials.get(kind) ?? '', right)).status).toBe(200)
  })

  it.each(PLACES)('accepts nothing else in $name, and does not say what it was shown', async (place) => {
    const stranger = await ask(door, 'nothing-that-anybody-has-given-out', place)
    expect(stranger.status).toBe(401)
    for (const [kind, credential] of credentials) {
      for (const shown of [credential, strange(credential), `${credential}x`, credential.slice(0, -1)]) {
        if (shown === credential && place === right && own.includes(kind)) continue
        expect({ kind, shown, ...(await ask(door, shown, place)) }).toEqual({ kind, shown, ...stranger })
      }
    }
  })
})

it('a Bot-Token beside an access key changes nothing at either', async () => {
  const both = (first: string, second: string): Place => ({
    name: 'both',
    headers: () => ({
      authorization: `Bearer ${credentials.get(first)}`,
      'bot-token': credentials.get(second) ?? '',
    }),
  })
  expect((await ask('the gateway', '', both('an access key', 'a Bot-Token'))).status).toBe(200)
  expect((await ask('the gateway', '', both('a chart key', 'a Bot-Token'))).status).toBe(401)
  expect((await ask('the chart preview', '', both('a Bot-Token', 'a chart key'))).status).toBe(401)
  expect((await ask('the network score-sync', '', both('a Bot-Token', 'a chart key'))).status).toBe(401)
})
