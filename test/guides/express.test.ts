import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import express5 from 'express'
import express4 from 'express4'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { ask } from './ask.ts'
import { type RunningGuide, startGuide } from './page.ts'
import { askEverything } from './questions.ts'

/** docs/guides/express.md */

/** What the service has of Express. */
interface Application extends http.RequestListener {
  set(setting: 'trust proxy', value: string): void
  get(path: string, handler: (req: Request, res: Response) => void): void
  post(path: string, handler: (req: Request, res: Response) => void): void
}
interface Request {
  readonly protocol: string
  readonly hostname: string
  readonly originalUrl: string
  readonly ip: string
  get(name: string): string | undefined
}
interface Response extends http.ServerResponse {
  json(body: unknown): void
  redirect(status: number, url: string): void
}
type Express = () => http.RequestListener

function serviceIn(express: Express): http.Server {
  const app = express() as Application
  app.set('trust proxy', 'loopback')
  app.get('/v1/items', (req, res) => {
    const url = `${req.protocol}://${req.hostname}${req.originalUrl}`
    res.json({ user: req.get('X-Tollgate-User') ?? null, url, ip: req.ip, token: req.get('Authorization') ?? null })
  })
  app.get('/v1/old', (req, res) => res.redirect(301, `${req.protocol}://${req.hostname}/v1/items`))
  app.post('/v1/charge', (_req, res) => res.end('charged'))
  return http.createServer(app)
}

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('%s', (_version, express) => {
  let server: http.Server
  let guide: RunningGuide
  const bearer = (user: string) => {
    const token = jwtOf(user, { iss: 'https://id.example.org', aud: 'shop' })
    return { headers: { authorization: `Bearer ${token}` } }
  }
  const start = (also: readonly (readonly [string[], unknown])[] = []) =>
    startGuide('express', { upstream: (server.address() as AddressInfo).port, env: { JWT_SECRET: SECRET }, also })

  beforeAll(async () => {
    server = serviceIn(express).listen(0, '127.0.0.1')
    await once(server, 'listening')
    guide = await start()
  })
  afterAll(async () => {
    await guide.stop()
    server.closeAllConnections()
    server.close()
  })

  askEverything(() => ({
    door: guide.door,
    as: bearer,
    known: (user) => user,
    spellings: [
      '/v1/CHARGE',
      '/V1/charge',
      '/v1/charge/',
      '/v1/CHARGE/',
      '/v1/%63harge',
      '/v1/%43harge',
      '/v1/charge?a=b',
    ],
  }))

  it('goes on checking the credential by itself, and learns the address of the client', async () => {
    const { headers } = bearer('emil')
    const { text } = await ask(guide.door, { path: '/v1/items', headers, from: '127.0.0.9' })
    expect(JSON.parse(text)).toMatchObject({ ip: '127.0.0.9', token: headers.authorization })
  })

  it('refuses nothing in shadow, whoever asks', async () => {
    const shadow = await start([
      [['auth', 'shadow'], true],
      [['quota', 'shadow'], true],
    ])
    try {
      const statuses: number[] = []
      for (const asked of [{}, { headers: { authorization: 'Bearer nonsense' } }, bearer('frida')]) {
        for (let i = 0; i < 6; i++) {
          statuses.push((await ask(shadow.door, { method: 'POST', path: '/v1/charge', ...asked })).status)
        }
      }
      expect(new Set(statuses)).toEqual(new Set([200]))
    } finally {
      await shadow.stop()
    }
  })
})
