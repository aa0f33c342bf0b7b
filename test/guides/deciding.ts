import { expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { ask, type Door } from './ask.ts'
import { as } from './credential.ts'
import { HOST, type RunningGuide, startGuide } from './page.ts'
import type { AskingProxy } from './proxies.ts'
import { askEverything } from './questions.ts'
import { EXPRESS_SPELLINGS, type Items, startService } from './service.ts'

/** What the guides promise of a proxy that forwards, and asks the gateway whether it may. */

export interface DecidedStack {
  readonly door: Door
  /** The file of the page with the addresses of this machine. */
  readonly file: string
  /** Ends the gateway, and leaves the proxy and the service. */
  endGateway(): Promise<void>
}

/** The file of a page, in which the addresses are those of this machine. */
export function placed(file: string, ports: { service: number; decisions: number | null; gateway: number }): string {
  const moved = { 3000: ports.service, 8082: ports.decisions, 8080: ports.gateway }
  return Object.entries(moved).reduce(
    (all, [from, to]) =>
      all.replaceAll(`127.0.0.1:${from}`, `127.0.0.1:${to}`).replaceAll(`port_value: ${from} `, `port_value: ${to} `),
    file,
  )
}

/** The service, the gateway of a page, and the proxy before the service. */
export async function startDecided({ page, file, start }: AskingProxy): Promise<DecidedStack> {
  const service = await startService()
  const also = [[['decisions', 'listen'], '127.0.0.1:0']] as const
  const guide: RunningGuide = await startGuide(page, { upstream: service.port, env: { JWT_SECRET: SECRET }, also })
  const ports = { service: service.port, decisions: guide.decisions, gateway: guide.door.port }
  const text = placed(file(), ports)
  const proxy = await start(text)
  return {
    door: { port: proxy.port, origin: `http://${HOST}` },
    file: text,
    endGateway: guide.stop,
  }
}

export interface DecidedQuestions {
  /** The status of the proxy while there is no gateway. */
  readonly whenDown: number
  /** Spellings of the dear path that the service takes for it behind this proxy. Default those of Express */
  readonly spellings?: readonly string[]
  /** Whether the proxy passes the quota of a request on that it lets through. Default yes */
  readonly showsQuota?: boolean
}

export function askDecided(
  stack: () => DecidedStack,
  { whenDown, spellings = EXPRESS_SPELLINGS, showsQuota = true }: DecidedQuestions,
): void {
  askEverything(() => ({ door: stack().door, as, known: (user) => user, spellings }))

  async function seen(headers: Record<string, string>): Promise<Items> {
    const { text } = await ask(stack().door, { path: '/v1/items', headers: { ...as('emil').headers, ...headers } })
    return JSON.parse(text) as Items
  }

  it('tells the client what is left, and when to come again', async () => {
    const { door } = stack()
    const { headers } = await ask(door, { path: '/v1/items', ...as('fritz') })
    if (showsQuota) {
      expect(headers['ratelimit-policy']).toBe('"personal-read-1h";q=120;w=3600, "personal-read-1d";q=1200;w=86400')
      expect(headers.ratelimit).toContain('"personal-read-1h";r=119;')
    } else expect(headers).not.toHaveProperty('ratelimit')
    const dear = () => ask(door, { method: 'POST', path: '/v1/charge', ...as('fritz') })
    for (let i = 0; i < 4; i++) expect((await dear()).status).toBe(200)
    const refused = await dear()
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(JSON.parse(refused.text)).toMatchObject({ error: 'quota_exceeded' })
    const nobody = await ask(door, { path: '/v1/items' })
    expect([nobody.status, nobody.headers['www-authenticate']]).toEqual([401, expect.stringMatching(/^Bearer /)])
    expect((await ask(door, { path: '/nowhere', ...as('fritz') })).status).toBe(404)
  })

  it('tells the service who asks, whatever the client says, and not by which credential', async () => {
    const { headers } = await seen({ 'x-tollgate-user': 'root' })
    expect(headers['x-tollgate-user']).toBe('emil')
    expect(headers.authorization).toBeUndefined()
  })

  it('is not led to another request by what the client writes', async () => {
    const { door } = stack()
    const lies = [
      { 'x-forwarded-uri': '/v1/items', 'x-forwarded-method': 'GET' },
      { 'x-original-uri': '/v1/items', 'x-original-method': 'GET' },
    ]
    const user = as('gerda').headers
    for (const lie of lies) {
      const { text } = await ask(door, { method: 'POST', path: '/v1/charge', headers: { ...user, ...lie } })
      expect(text).toBe('charged')
    }
    const { text } = await ask(door, { path: '/me/quota', headers: user })
    const { windows } = JSON.parse(text) as { windows: Record<string, { used: number }[]> }
    expect(windows.write?.[0]?.used).toBe(30)
    expect(windows.read?.[0]?.used).toBe(0)
  })

  it('opens a WebSocket for whom the gateway lets in, and refuses it to others', async () => {
    const handshake = {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    }
    const asked = (headers: object) => ask(stack().door, { path: '/ws/1', headers: { ...handshake, ...headers } })
    expect((await asked({})).status).toBe(401)
    // The service knows no WebSocket, and says so itself.
    expect((await asked(as('hans').headers)).text).toContain('Cannot GET /ws/1')
  })

  it('lets nothing pass while the gateway is down', async () => {
    await stack().endGateway()
    const { status, text } = await ask(stack().door, { path: '/v1/items', ...as('ida') })
    expect(status).toBe(whenDown)
    expect(text).not.toContain('ida')
  })
}
