import { expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { ask, type Door } from './ask.ts'
import { as } from './credential.ts'
import { HOST, type RunningGuide, startGuide } from './page.ts'
import type { Service } from './service.ts'

/** docs/guides/asking.md: a service in some language, which asks for itself. */

const TOKEN = 'token-of-the-services-0123456789abcdef'

export interface AskingStack {
  readonly door: Door
  readonly gateway: Door
}

/** @param startService with what it needs to ask */
export async function startAsking(
  startService: (env: Record<string, string>) => Promise<Service>,
): Promise<AskingStack> {
  const env = { JWT_SECRET: SECRET, TOLLGATE_DECISIONS_TOKEN: TOKEN }
  const also = [
    [['decisions', 'listen'], '127.0.0.1:0'],
    [['quota', 'exempt'], { users: ['dora'] }],
  ] as const
  const guide: RunningGuide = await startGuide('asking', { upstream: 9, env, also })
  const place = { TOLLGATE_URL: `http://127.0.0.1:${guide.decisions}`, TOLLGATE_DECISIONS_TOKEN: TOKEN }
  const service = await startService(place)
  return {
    door: { port: service.port, origin: `http://${HOST}` },
    gateway: guide.door,
  }
}

export function askAsking(stack: () => AskingStack): void {
  async function used(user: string, category: string): Promise<number | undefined> {
    const { text } = await ask(stack().gateway, { path: '/me/quota', ...as(user) })
    return (JSON.parse(text) as { windows: Record<string, { used: number }[]> }).windows[category]?.[0]?.used
  }

  it('serves whom the gateway lets in, and knows who it is', async () => {
    const { door } = stack()
    const { status, text } = await ask(door, { path: '/v1/items?a=b', ...as('anna') })
    expect([status, JSON.parse(text)]).toEqual([200, { user: 'anna' }])
    expect(await used('anna', 'read')).toBe(1)
    expect((await ask(door, { path: '/v1/items' })).status).toBe(401)
    expect((await ask(door, { path: '/nowhere', ...as('anna') })).status).toBe(404)
  })

  it('charges what a request has cost in the end', async () => {
    const { text } = await ask(stack().door, { method: 'POST', path: '/v1/charge', ...as('bert') })
    expect(text).toBe('charged')
    expect(await used('bert', 'write')).toBe(5)
  })

  it('serves a user who is never charged, so that there is nothing to settle', async () => {
    const { status, text } = await ask(stack().door, { method: 'POST', path: '/v1/charge', ...as('dora') })
    expect([status, text]).toEqual([200, 'charged'])
    expect(await used('dora', 'write')).toBe(0)
  })

  it('refuses with the status and the time of the gateway', async () => {
    const { door } = stack()
    const statuses: number[] = []
    const charge = () => ask(door, { method: 'POST', path: '/v1/charge', ...as('cora') })
    for (let i = 0; i < 10; i++) statuses.push((await charge()).status)
    expect(statuses).toEqual(Array(10).fill(200))
    const { status, headers, text } = await charge()
    expect([status, JSON.parse(text).error]).toEqual([429, 'quota_exceeded'])
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  })
}
