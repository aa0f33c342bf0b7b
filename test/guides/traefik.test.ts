import { afterAll, beforeAll, expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { ask, type Door } from './ask.ts'
import { HOST, type RunningGuide, startGuide } from './page.ts'
import { askEverything } from './questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from './service.ts'
import { appended, type Rewrite, startStandIn } from './stand-in.ts'

/** docs/guides/traefik.md, against what `pkg/middlewares/forwardedheaders` of Traefik 3 does at an entry point with TLS. */

/** It drops them of whom it does not trust, and writes its own. */
const MANAGED = /^x-(?:forwarded-(?:proto|scheme|for|host|port|server|uri|method|prefix|tls-.*)|scheme|real-ip)$/

const traefik: Rewrite = (fields, client, host) => {
  const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => !MANAGED.test(name)))
  return {
    ...kept,
    'x-real-ip': client,
    'x-forwarded-for': appended(undefined, client),
    'x-forwarded-proto': fields.upgrade === 'websocket' ? 'wss' : 'https',
    'x-forwarded-port': '443',
    'x-forwarded-host': host,
    'x-forwarded-server': 'traefik-7f',
  }
}

let service: Service
let guide: RunningGuide
let proxy: Service
let door: Door
const as = (user: string) => {
  const token = jwtOf(user, { iss: 'https://id.example.org', aud: 'shop' })
  return { headers: { authorization: `Bearer ${token}` } }
}

beforeAll(async () => {
  service = await startService()
  const also = [[['edge', 'trusted_proxies'], ['127.0.0.1']]] as const
  guide = await startGuide('traefik', { upstream: service.port, env: { JWT_SECRET: SECRET }, also })
  proxy = await startStandIn(guide.door.port, traefik)
  door = { port: proxy.port, origin: `https://${HOST}` }
})
afterAll(async () => {
  await proxy.stop()
  await guide.stop()
  await service.stop()
})

askEverything(() => ({ door, as, known: (user) => user, spellings: EXPRESS_SPELLINGS }))

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
    'x-forwarded-server': 'traefik-7f',
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
