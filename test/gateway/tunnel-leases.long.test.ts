import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { bearer, jwtOf } from '../e2e/jwt.ts'
import { isCharged } from '../observe/settled.ts'
import { listening } from '../setup/listening.ts'

/** A tunnel ends with what admitted it. But for the age, each has a neighbour that goes on. */

let server: http.Server
let app: RunningApp
const opened = new Set<WebSocket>()

beforeEach(async () => {
  server = http.createServer((_request, response) => response.end())
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (ws) => ws.on('message', (data) => ws.send(`echo ${data}`)).on('error', () => {}))
  await listening(server)
})
afterEach(async () => {
  for (const ws of opened) ws.terminate()
  opened.clear()
})

const text = (edge = '', route = '', quota = ''): string =>
  yaml(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    `
edge: { ${edge} }
quota: { baselines: { personal: { read: { 1h: 10, 1d: 100 }, seconds: { 1h: 3 } }, global: { read: { 1h: 99, 1d: 999 } } }, ${quota} }
routes: [{ match: GET /free, category: read, cost: 0 }, { match: GET /live, category: read, cost: 2, ${route} }, { match: GET /pub, public: true }, { match: GET /both, charges: { read: 1, seconds: 1 }, tunnel_charge: 1s }]
drain: { timeout: 100ms }
store_options: { deadline: 5s }`,
  )

async function start(edge?: string, route?: string, quota?: string): Promise<void> {
  app = await startApp(text(edge, route, quota))
}

async function open(headers: Record<string, string>, path = '/live'): Promise<WebSocket> {
  const ws = new WebSocket(app.url.replace('http', 'ws') + path, { headers })
  ws.on('error', () => {})
  opened.add(ws)
  await once(ws, 'open')
  return ws
}

async function echoes(ws: WebSocket): Promise<boolean> {
  if (ws.readyState !== WebSocket.OPEN) return false
  const answer = Promise.race([once(ws, 'message').then(() => true), once(ws, 'close').then(() => false)])
  ws.send('still there?')
  return answer
}

/** Default of `clock_tolerance`. */
const CLOCK_TOLERANCE_S = 30

const ADMIN = { authorization: 'Bearer test-admin-token-0001' }

/** Until each tunnel has been looked at again: a neighbour that is blocked now ends at its next look. */
async function nextLook(): Promise<void> {
  const neighbour = await open(bearer('eve'))
  await admin('PUT', 'users/eve/override', { read: { '1d': 0 }, reason: 'test' })
  await isClosed(neighbour)
}

const isClosed = (ws: WebSocket) => expect.poll(() => ws.readyState, { timeout: 10_000 }).toBe(WebSocket.CLOSED)
const ended = (): string[] => app.observations.flatMap((o) => (o.type === 'tunnel_ended' ? [o.why] : []))

async function admin(method: string, path: string, body?: object): Promise<Record<string, string>> {
  const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
  const response = await fetch(`${app.admin}/api/${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true)
  return response.status === 204 ? {} : ((await response.json()) as Record<string, string>)
}

describe('a tunnel is ended', () => {
  it('when its JWT expires', async () => {
    await start()
    const neighbour = await open(bearer('alice'))
    // It holds for as long as clocks may differ beyond that.
    const exp = Math.floor(Date.now() / 1000) + 2 - CLOCK_TOLERANCE_S
    const ws = await open({ authorization: `Bearer ${jwtOf('alice', { exp })}` })
    expect(await echoes(ws)).toBe(true)
    await isClosed(ws)
    expect(await echoes(neighbour)).toBe(true)
    expect(ended()).toEqual(['credential'])
    const reason = 'GIVEN_UP: the credential of the tunnel holds no longer'
    expect(app.requests()).toEqual([expect.objectContaining({ outcome: 'aborted', reason, httpStatus: 101 })])
  })

  it('when its access key is revoked', async () => {
    await start()
    const made = await admin('POST', 'tokens', { user: 'bob', name: 'test' })
    const neighbour = await open(bearer('bob'))
    const ws = await open({ authorization: `Bearer ${made.token}` })
    expect(await echoes(ws)).toBe(true)
    await admin('DELETE', `tokens/${made.id}`)
    await isClosed(ws)
    expect([await echoes(neighbour), ended()]).toEqual([true, ['credential']])
  })

  it('when the access key in its query is revoked; one by address goes on, until such callers are let in no more', async () => {
    await start()
    const from = (rest: string) =>
      text().replace('gateway_tokens: true', `gateway_tokens: true\n  from: [{ query: key }]\n  ${rest}`)
    await app.reload(from('anonymous: {}'))
    const made = await admin('POST', 'tokens', { user: 'bob', name: 'test' })
    const [neighbour, ws] = [await open({}), await open({}, `/live?key=${made.token}`)]
    const signed = await open({}, `/live?key=${jwtOf('carol')}`)
    await admin('DELETE', `tokens/${made.id}`)
    await isClosed(ws)
    expect([await echoes(neighbour), await echoes(signed), ended()]).toEqual([true, true, ['credential']])
    signed.close()
    await app.reload(from('anonymous: { ipv4: 31 }'))
    await isClosed(neighbour)
    const [shadowed] = [await app.reload(from('shadow: true')).then(() => open({}))]
    expect(await echoes(shadowed)).toBe(true)
    await app.reload(from('several: first'))
    await isClosed(shadowed)
    expect(ended()).toEqual(['credential', 'credential', 'credential'])
  })

  it('when its rule lets nobody in without a credential any more, but not where there is no rule any more', async () => {
    await start('', 'anonymous: true')
    const [ws, elsewhere] = [await open({}), await open({}, '/live')]
    expect([await echoes(ws), await echoes(elsewhere)]).toEqual([true, true])
    const without = text('', 'anonymous: true').replace('GET /live,', 'GET /other,')
    await app.reload(without.replace('routes: [', 'routes: [{ match: GET /new, category: read }, '))
    await expect.poll(async () => (await fetch(`${app.url}/live`)).status).toBe(404)
    expect([await echoes(ws), ended()]).toEqual([true, []])
    await app.reload(text('', 'anonymous: true'))
    await nextLook()
    expect([await echoes(ws), ended()]).toEqual([true, ['blocked']])
    await app.reload(text('', 'anonymous: false'))
    await Promise.all([isClosed(ws), isClosed(elsewhere)])
    expect(ended()).toEqual(['blocked', 'credential', 'credential'])
  })

  it('when its JWT expires, but not while auth.shadow refuses nobody for that', async () => {
    await start()
    const shadow = (is: boolean) => text().replace('gateway_tokens: true', `gateway_tokens: true\n  shadow: ${is}`)
    await app.reload(shadow(true))
    const exp = Math.floor(Date.now() / 1000) + 2 - CLOCK_TOLERANCE_S
    const headers = { authorization: `Bearer ${jwtOf('alice', { exp })}` }
    const ws = await open(headers)
    async function letIn(): Promise<string | null | undefined> {
      await fetch(`${app.url}/free`, { headers })
      return app.requests().at(-1)?.letIn
    }
    await expect.poll(letIn, { timeout: 10_000 }).toBe('expired')
    await nextLook()
    expect([await echoes(ws), ended()]).toEqual([true, ['blocked']])
    await app.reload(shadow(false))
    await isClosed(ws)
    expect(ended()).toEqual(['blocked', 'credential'])
  })

  it('when its issuer is taken out of the configuration', async () => {
    await start()
    const neighbour = await open({}, '/pub')
    const ws = await open(bearer('alice'))
    await app.reload(text().replace('https://id.test', 'https://other.test'))
    await isClosed(ws)
    expect([await echoes(neighbour), ended()]).toEqual([true, ['credential']])
  })

  it('when a limit of 0 blocks its user, unless that is only watched, or it costs nothing', async () => {
    await start()
    const [ws, shadowed] = [await open(bearer('alice')), await open(bearer('carol'))]
    const free = await open(bearer('alice'), '/free')
    await admin('PUT', 'users/carol/override', { read: { '1d': 0 }, shadow: true, reason: 'test' })
    await admin('PUT', 'users/alice/override', { read: { '1d': 0 }, reason: 'test' })
    await isClosed(ws)
    expect([await echoes(free), await echoes(shadowed), ended()]).toEqual([true, true, ['blocked']])
  })

  it('not by a limit of 0 of the baselines in a category for which its user has a grant', async () => {
    app = await startApp(text().replace('read: { 1h: 10,', 'read: { 1h: 0,'))
    const granted = async (user: string) => {
      const until = new Date(Date.now() + 3_600_000).toISOString()
      await admin('POST', 'grants', { user, category: 'read', tokens: 50, until, reason: 'test' })
      return open(bearer(user))
    }
    const [ws, neighbour] = [await granted('alice'), await granted('bob')]
    await admin('PUT', 'users/bob/override', { read: { '1d': 0 }, reason: 'test' })
    await isClosed(neighbour)
    expect([await echoes(ws), ended()]).toEqual([true, ['blocked']])
  })

  it('not by a limit of 0 where a shadow that came behind a reload has it only watched', async () => {
    await start()
    const [watched, ws] = [await open(bearer('alice')), await open({ authorization: `Bearer ${jwtOf('dora')}` })]
    await app.reload(text('max_lag: 400ms'))
    await admin('PATCH', 'quota', { shadow: true, reason: 'test' })
    await admin('PUT', 'users/alice/override', { read: { '1d': 0 }, reason: 'test' })
    await app.reload(text('tunnel_max_age: 1s'))
    await isClosed(ws)
    await isClosed(watched)
    expect(ended()).toEqual(['age', 'age'])
  })

  it('at tunnel_max_age, on a public route too', async () => {
    await start('tunnel_max_age: 1s')
    const both = [await open({}, '/pub'), await open(bearer('alice'))]
    for (const ws of both) await isClosed(ws)
    expect(ended()).toEqual(['age', 'age'])
  })

  it('where the quota refuses tunnel_charge; until then it costs the same again and again, unless its user is exempt', async () => {
    await start('', 'tunnel_charge: 1s', 'exempt: { users: [monitoring] }')
    const neighbour = await open({}, '/pub')
    await admin('PUT', 'users/monitoring/override', { read: { '1d': 0 }, reason: 'test' })
    const exempt = await open(bearer('monitoring'))
    const ws = await open(bearer('alice'))
    await isClosed(ws)
    expect([await echoes(neighbour), await echoes(exempt), ended()]).toEqual([true, true, ['quota']])
    expect(app.observations.filter(isCharged)).toHaveLength(5)
    expect(app.requests()).toEqual([expect.objectContaining({ cost: 2, charged: null, httpStatus: 101 })])
    const windows = (await (await fetch(`${app.url}/me/quota`, { headers: bearer('alice') })).json()) as {
      windows: { read: { used: number }[] }
    }
    expect(windows.windows.read[0]?.used).toBe(10)
  })
})

const outcomes = () => app.observations.filter((seen) => seen.type === 'settled')
const ofTunnel = () => outcomes().filter(({ tunnel }) => tunnel !== undefined)
const metric = async (name: string): Promise<string | undefined> =>
  (await (await fetch(`${app.admin}/metrics`)).text()).split('\n').find((line) => line.startsWith(name))
const refusals = async (query = '') =>
  (await (await fetch(`${app.admin}/api/refusals${query}`, { headers: ADMIN })).json()) as { refusals: object[] }

it('what an open tunnel costs (tunnel_charge) is refused as a request is, once: for the log, the metrics and the refusals', async () => {
  await start('', 'tunnel_charge: 1s')
  await admin('PATCH', 'quota', { mode: 'conservative', reason: 'test' })
  const ws = await open(bearer('alice'))
  await isClosed(ws)
  const [, ...later] = outcomes()
  expect(later.map(({ kind, tokens, tunnel }) => [kind, tokens, tunnel?.openMs])).toEqual([
    ['charged', 2, 1000],
    ['charged', 2, 2000],
    ['refused', 0, 3000],
  ])
  expect(await metric('tollgate_quota_refusals_total')).toBe(
    'tollgate_quota_refusals_total{category="read",scope="personal"} 1',
  )
  const refused = { user: 'alice', scope: 'Personal', window: '1h', limit: 7, used: 6, cost: 2, count: 1 }
  await expect.poll(() => refusals(), { timeout: 10_000 }).toMatchObject({ refusals: [refused] })
  const [first] = later
  const [record] = app.requests()
  expect(first?.tunnel?.requestId).toBe(record?.requestId)
})

it('what an open tunnel costs (tunnel_charge) is charged in each of several meters, and ends where one of them has no room', async () => {
  await start()
  const ws = await open(bearer('alice'), '/both')
  await isClosed(ws)
  expect(ended()).toEqual(['quota'])
  expect(ofTunnel().map(({ kind, charge, isFurther }) => [kind, charge.category, isFurther === true])).toEqual([
    ['charged', 'read', false],
    ['charged', 'seconds', true],
    ['charged', 'read', false],
    ['charged', 'seconds', true],
    ['refused', 'seconds', false],
  ])
  expect(app.requests()[0]).toMatchObject({ cost: 1, others: [{ category: 'seconds', cost: 1, charged: null }] })
})

it('what an open tunnel costs (tunnel_charge) is reported in shadow as what would have been refused, and nobody is cut off', async () => {
  await start('', 'tunnel_charge: 1s, shadow: true', 'shadow: false')
  const ws = await open(bearer('alice'))
  await expect.poll(() => ofTunnel().map(({ kind }) => kind), { timeout: 20_000 }).toContain('shadowed')
  expect([await echoes(ws), ended()]).toEqual([true, []])
  expect(ofTunnel().findLast(({ kind }) => kind === 'shadowed')).toMatchObject({
    tokens: 0,
    refusedBy: { scope: 'personal', window: '1h', limit: 10, used: 10 },
  })
  expect(await metric('tollgate_shadow_refusals_total{')).toContain('{category="read",scope="personal"}')
  expect(await refusals()).toEqual({ refusals: [], next: null })
  await expect
    .poll(() => refusals('?shadow=true'), { timeout: 10_000 })
    .toMatchObject({ refusals: [{ user: 'alice' }] })
})

it('what an open tunnel costs (tunnel_charge) ends when its user is made exempt, and begins again when that is taken away', async () => {
  await start('', 'tunnel_charge: 1s')
  const exempt = 'exempt: { users: [alice] }'
  const ws = await open(bearer('alice'))
  const kinds = () => ofTunnel().map(({ kind }) => kind)
  await expect.poll(kinds, { timeout: 10_000 }).toContain('charged')
  await app.reload(text('', 'tunnel_charge: 1s', exempt))
  await expect.poll(kinds, { timeout: 10_000 }).toContain('exempt')
  const before = kinds().length
  await app.reload(text('', 'tunnel_charge: 1s'))
  await expect.poll(() => kinds().slice(before), { timeout: 10_000 }).toContain('charged')
  expect(await echoes(ws)).toBe(true)
  expect(ofTunnel().filter(({ kind }) => kind === 'exempt')[0]).toMatchObject({ exempt: 'user', tokens: 0 })
})

it('a wrong credential that shadow let in is not checked again and again, as one that was accepted is', async () => {
  const asked: string[] = []
  const askedAt: number[] = []
  const provider = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const token = new URLSearchParams(body).get('token') ?? ''
    asked.push(token)
    if (token === 'good') askedAt.push(performance.now())
    response.statusCode = token === 'good' ? 200 : 400
    response.end('{"active":true,"sub":"alice"}')
  })
  const url = `http://127.0.0.1:${await listening(provider)}`
  const auth = `gateway_tokens: true
  shadow: true
  credential_cache: { ttl: 0s }
  introspection: [{ url: "${url}", client_id: gateway, client_secret: secret }]`
  app = await startApp(text().replace('gateway_tokens: true', auth))
  const wrong = await open({ authorization: 'Bearer wrong' })
  await open({ authorization: 'Bearer good' })
  await expect.poll(() => asked.filter((token) => token === 'good').length, { timeout: 10_000 }).toBeGreaterThan(4)
  expect(asked.filter((token) => token === 'wrong')).toHaveLength(1)
  expect(await echoes(wrong)).toBe(true)
  const [first = 0, ...others] = askedAt
  // Timers may come early by a millisecond.
  for (const [i, at] of others.entries()) expect(at - first).toBeGreaterThanOrEqual((i + 1) * 1_495)
})
