import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { SECRET } from '../../e2e/harness.ts'
import { tempFolder } from '../../setup/at-end.ts'
import { ask, type Door } from '../ask.ts'
import { as } from '../credential.ts'
import { certify, HOST, type RunningGuide, startGuide } from '../page.ts'
import { askEverything } from '../questions.ts'
import { type Items, type Service, startService } from '../service.ts'
import { startTraefik, TRAEFIK_SPELLINGS } from '../traefik.ts'

/** docs/guides/traefik.md, with Traefik at an entry point with TLS. */

let service: Service
let guide: RunningGuide
let proxy: Service
let door: Door
const folder = tempFolder()

beforeAll(async () => {
  service = await startService()
  const also = [[['edge', 'trusted_proxies'], ['127.0.0.1']]] as const
  guide = await startGuide('traefik', { upstream: service.port, env: { JWT_SECRET: SECRET }, also })
  const ca = certify(folder)
  const doorOf = (port: number) => ({ port, origin: `https://${HOST}`, ca })
  const servers = [{ url: `http://127.0.0.1:${guide.door.port}` }]
  const dynamic = {
    http: {
      routers: { all: { rule: 'PathPrefix(`/`)', service: 'gateway', tls: {} } },
      services: { gateway: { loadBalancer: { servers } } },
    },
    tls: { certificates: [{ certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }] },
  }
  // JSON is YAML.
  proxy = await startTraefik(JSON.stringify(dynamic), doorOf)
  door = doorOf(proxy.port)
})

askEverything(() => ({ door, as, known: (user) => user, spellings: TRAEFIK_SPELLINGS }))

async function seen(headers: Record<string, string>, from?: string): Promise<Items> {
  const all = { ...as('emil').headers, ...headers }
  const { text } = await ask(door, { path: '/v1/items', headers: all, ...(from === undefined ? {} : { from }) })
  return JSON.parse(text) as Items
}

it('keeps the facts of Traefik, and none of its client', async () => {
  const lies = { 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '192.0.2.1', forwarded: 'host=evil.example' }
  const { headers, url } = await seen(lies, '127.0.0.9')
  expect(url).toBe(`https://${HOST}/v1/items`)
  expect(headers).toMatchObject({
    host: HOST,
    'x-forwarded-for': '127.0.0.9, 127.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': HOST,
    'x-forwarded-port': '443',
    'x-forwarded-server': hostname(),
    'x-real-ip': '127.0.0.9',
  })
  expect(headers.forwarded).toBeUndefined()
})

it('tells the service https of a WebSocket, of which Traefik says wss', async () => {
  const { headers } = await seen({
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  })
  expect(headers).toMatchObject({ upgrade: 'websocket', 'x-forwarded-proto': 'https' })
})
