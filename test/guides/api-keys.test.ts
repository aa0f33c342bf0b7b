import { createHash } from 'node:crypto'
import express from 'express'
import { beforeAll, expect, it } from 'vitest'
import { ask } from './ask.ts'
import { type RunningGuide, startGuide } from './page.ts'
import { askEverything } from './questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from './service.ts'

/** docs/guides/api-keys.md */

let service: Service
let guide: RunningGuide
const keyOf = (user: string): string => `key-of-${user}`
const as = (user: string) => ({ headers: { 'x-api-key': keyOf(user) } })

beforeAll(async () => {
  service = await startService(
    'X-Tollgate-User',
    express,
    (headers) => !`${headers['x-api-key']}`.startsWith('key-of-'),
  )
  guide = await startGuide('api-keys', { upstream: service.port })
})

askEverything(() => ({ door: guide.door, as, known: () => null, spellings: EXPRESS_SPELLINGS }))

it('lets the service check the key, and a key that it does not know is charged too', async () => {
  const { text } = await ask(guide.door, { path: '/v1/items', ...as('emil') })
  expect((JSON.parse(text) as Items).headers['x-api-key']).toBe(keyOf('emil'))
  const headers = { 'x-api-key': 'made-up' }
  expect(await ask(guide.door, { path: '/v1/items', headers })).toMatchObject({ status: 401, text: 'no such key' })
  const quota = await ask(guide.door, { path: '/me/quota', headers })
  expect(guide.users()).toContain(`key:${createHash('sha256').update('made-up').digest('base64url')}`)
  expect(JSON.parse(quota.text).windows.read[0].used).toBe(1)
})

it('refuses by itself who has no key, or has it elsewhere', async () => {
  for (const path of ['/v1/items', `/v1/items?api_key=${keyOf('emil')}`]) {
    const { status, text } = await ask(guide.door, { path })
    expect([status, JSON.parse(text).error]).toEqual([401, 'unauthorized'])
  }
})
