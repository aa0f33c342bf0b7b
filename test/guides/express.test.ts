import express5 from 'express'
import express4 from 'express4'
import { beforeAll, describe, expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { ask } from './ask.ts'
import { as } from './credential.ts'
import { type RunningGuide, startGuide } from './page.ts'
import { askEverything } from './questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from './service.ts'

/** docs/guides/express.md */
describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('%s', (_version, express) => {
  let service: Service
  let guide: RunningGuide
  const start = (also: readonly (readonly [string[], unknown])[] = []) =>
    startGuide('express', { upstream: service.port, env: { JWT_SECRET: SECRET }, also })

  beforeAll(async () => {
    service = await startService('X-Tollgate-User', express)
    guide = await start()
  })

  askEverything(() => ({ door: guide.door, as, known: (user) => user, spellings: EXPRESS_SPELLINGS }))

  it('goes on checking the credential by itself, and learns the address of the client', async () => {
    const { headers } = as('emil')
    const { text } = await ask(guide.door, { path: '/v1/items', headers, from: '127.0.0.9' })
    const seen = JSON.parse(text) as Items
    expect([seen.ip, seen.headers.authorization]).toEqual(['127.0.0.9', headers.authorization])
  })

  it('tells sessions in a cookie apart, and a page of another origin reads their 429', async () => {
    const sessions = await start([
      [['auth', 'unverified_keys'], { cookie: 'connect.sid' }],
      [['auth', 'anonymous'], { by: 'address' }],
      [['cors'], { origins: ['https://app.example.org'], credentials: true }],
    ])
    try {
      const buy = (headers: Record<string, string>) => {
        const all = { origin: 'https://app.example.org', ...headers }
        return ask(sessions.door, { method: 'POST', path: '/v1/charge', headers: all })
      }
      const first = { cookie: 'a=1; connect.sid=s%3Aone.x' }
      const { text } = await ask(sessions.door, { path: '/v1/items', headers: first })
      expect((JSON.parse(text) as Items).headers.cookie).toBe(first.cookie)
      for (const status of [200, 200, 200, 200, 429]) expect((await buy(first)).status).toBe(status)
      expect((await buy(first)).headers).toMatchObject({
        'access-control-allow-origin': 'https://app.example.org',
        'access-control-allow-credentials': 'true',
      })
      expect((await buy({ cookie: 'connect.sid=s%3Atwo.x' })).status).toBe(200)
      expect((await buy({})).status).toBe(200)
      const kinds = sessions.users().map((user) => user?.split(':')[0])
      expect(kinds).toEqual([...Array.from({ length: 8 }, () => 'key'), 'address'])
      expect(new Set(sessions.users()).size).toBe(3)
    } finally {
      await sessions.stop()
    }
  })

  it('refuses nothing in shadow, whoever asks', async () => {
    const shadow = await start([
      [['auth', 'shadow'], true],
      [['quota', 'shadow'], true],
    ])
    try {
      const statuses: number[] = []
      for (const asked of [{}, { headers: { authorization: 'Bearer nonsense' } }, as('frida')]) {
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
