import { afterAll, beforeAll, expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { startNginx } from '../setup/nginx.ts'
import type { SystemProxy } from '../setup/system-proxy.ts'
import { ask, type Door } from './ask.ts'
import { blockOf, HOST, type RunningGuide, startGuide } from './page.ts'
import { askEverything } from './questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from './service.ts'

/** docs/guides/nginx.md, with nginx as Debian has it. */

let service: Service
let guide: RunningGuide
let nginx: SystemProxy
let door: Door
const as = (user: string) => {
  const token = jwtOf(user, { iss: 'https://id.example.org', aud: 'shop' })
  return { headers: { authorization: `Bearer ${token}` } }
}

beforeAll(async () => {
  service = await startService()
  const also = [[['decisions', 'listen'], '127.0.0.1:0']] as const
  guide = await startGuide('nginx', { upstream: service.port, env: { JWT_SECRET: SECRET }, also })
  nginx = await startNginx(serverOfPage())
  door = { port: nginx.port, origin: `http://${HOST}` }
})
afterAll(async () => {
  await nginx.stop()
  await guide.stop()
  await service.stop()
})

/** The block of the page, with its addresses replaced. */
function serverOfPage(): string {
  return blockOf('nginx', 'nginx')
    .replace(/^listen .*$/m, '')
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${service.port}`)
    .replaceAll('127.0.0.1:8082', `127.0.0.1:${guide.decisions}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${guide.door.port}`)
}

askEverything(() => ({ door, as, known: (user) => user, spellings: EXPRESS_SPELLINGS }))
