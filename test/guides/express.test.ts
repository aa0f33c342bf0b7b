import express5 from 'express'
import express4 from 'express4'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { ask } from './ask.ts'
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
  const bearer = (user: string) => {
    const token = jwtOf(user, { iss: 'https://id.example.org', aud: 'shop' })
    return { headers: { authorization: `Bearer ${token}` } }
  }
  const start = (also: readonly (readonly [string[], unknown])[] = []) =>
    startGuide('express', { upstream: service.port, env: { JWT_SECRET: SECRET }, also })

  beforeAll(async () => {
    service = await startService('X-Tollgate-User', express)
    guide = await start()
  })
  afterAll(async () => {
    await guide.stop()
    await service.stop()
  })

  askEverything(() => ({ door: guide.door, as: bearer, known: (user) => user, spellings: EXPRESS_SPELLINGS }))

  it('goes on checking the credential by itself, and learns the address of the client', async () => {
    const { headers } = bearer('emil')
    const { text } = await ask(guide.door, { path: '/v1/items', headers, from: '127.0.0.9' })
    const seen = JSON.parse(text) as Items
    expect([seen.ip, seen.headers.authorization]).toEqual(['127.0.0.9', headers.authorization])
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
