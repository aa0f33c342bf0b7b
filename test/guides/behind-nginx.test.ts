import { beforeAll, expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { startNginxOf } from '../setup/nginx.ts'
import { freePort } from '../setup/redis.ts'
import type { SystemProxy } from '../setup/system-proxy.ts'
import { ask, type Door } from './ask.ts'
import { as } from './credential.ts'
import { blockOf, certify, HOST, type RunningGuide, startGuide } from './page.ts'
import { askEverything } from './questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from './service.ts'

/** docs/guides/behind-nginx.md, with a second gateway that is down. */

let service: Service
let guide: RunningGuide
let nginx: SystemProxy
let door: Door
const folder = tempFolder()

beforeAll(async () => {
  service = await startService()
  guide = await startGuide('behind-nginx', { upstream: service.port, env: { JWT_SECRET: SECRET } })
  const ca = certify(folder)
  const down = await freePort()
  nginx = await startNginxOf((port) =>
    blockOf('behind-nginx', 'nginx')
      .replace('listen 443 ', `listen 127.0.0.1:${port} `)
      .replace('127.0.0.1:8080', `127.0.0.1:${guide.door.port}`)
      .replace('127.0.0.1:8081', `127.0.0.1:${down}`)
      .replaceAll('/etc/nginx/', `${folder}/`),
  )
  door = { port: nginx.port, origin: `https://${HOST}`, ca }
})

askEverything(() => ({ door, as, known: (user) => user, spellings: MERGED }))

/** Spellings of the dear path that are the dear path to an Express behind it. */
const MERGED = EXPRESS_SPELLINGS

it('loses no request while one of two gateways is down, a POST among them', async () => {
  for (let i = 0; i < 20; i++) {
    const method = i % 2 === 0 ? 'GET' : 'POST'
    const { status } = await ask(door, { method, path: '/v1/items', ...as(`rolling-${i}`) })
    expect([method, status]).toEqual([method, method === 'GET' ? 200 : 404])
  }
})

it('lets a client write none of the fields that the gateway and the service believe', async () => {
  const lies = {
    ...{ 'x-forwarded-host': 'evil.example', 'x-forwarded-port': '66666666', 'x-forwarded-prefix': '/evil' },
    ...{ forwarded: 'for=192.0.2.66;host=evil.example', 'x-forwarded-for': '192.0.2.66', 'x-forwarded-proto': 'http' },
  }
  const headers = { ...as('emil').headers, ...lies }
  const { text } = await ask(door, { path: '/v1/items', headers, from: '127.0.0.9' })
  const seen = JSON.parse(text) as Items
  expect(seen.url).toBe(`https://${HOST}/v1/items`)
  expect(seen.headers['x-forwarded-for']).toBe('127.0.0.9, 127.0.0.1')
  expect(JSON.stringify(seen.headers)).not.toMatch(/evil|192\.0\.2|66666666/)
})
