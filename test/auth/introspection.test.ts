import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { AuthOptions, CheckPlaces, IssuerOptions } from '../../src/auth/authenticator.ts'
import type { IntrospectionOptions } from '../../src/auth/introspection.ts'
import type { Denial } from '../../src/errors.ts'
import { CLIENT, type OidcProvider, signingKey, startProvider } from './oidc-setup.ts'
import { AUDIENCE, type Bench, bench, ecKey, jwt, NOW, serve, type TestServer } from './support.ts'

const ACTIVE = { active: true, sub: 'alice', aud: AUDIENCE }

const opened: Bench[] = []
const servers: TestServer[] = []
afterEach(async () => {
  for (const { auth } of opened.splice(0)) auth.close()
  for (const server of servers.splice(0)) await server.close()
})

describe('with a real OpenID provider', () => {
  let provider: OidcProvider
  let url: string
  beforeAll(async () => {
    provider = await startProvider('opaque')
    provider.restartWith(signingKey('2026-08'))
    url = await provider.introspectionUri()
  })

  const open = (changes: Partial<IntrospectionOptions> = {}) => {
    const client = { clientId: CLIENT.client_id, clientSecret: CLIENT.client_secret }
    return openBench([{ url, ...client, userClaim: 'client_id', ...changes }], {}, [], Date.now())
  }

  it('a token that says nothing by itself is accepted, until it is revoked and what is known of it is too old', async () => {
    const { outcome, ...self } = await open()
    const token = await provider.fetchToken()
    expect(token).not.toContain('.')
    expect(await outcome(token)).toBe('score-bot')
    await provider.revoke(token)
    self.travel(7_000)
    expect(await outcome(token)).toBe('score-bot')
    self.travel(10_000)
    expect(await outcome(token)).toBe('unauthorized')
  })

  it('a token for another service, and one that it does not know, are refused', async () => {
    const { ask } = await open({ audiences: ['another-service'] })
    expect(await ask(await provider.fetchToken())).toMatchObject({
      reason: expect.stringContaining('meant for another audience'),
    })
    expect(await ask('never-issued')).toMatchObject({ code: 'unauthorized' })
  })

  it('a wrong secret of ours is no fault of the client', async () => {
    const { ask } = await open({ clientSecret: 'another' })
    const refused = (await ask(await provider.fetchToken())) as Denial
    expect(refused).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '1' } })
    expect(refused.reason).toContain('client_id and client_secret')
  })
})

it('a question is a form by HTTP Basic, whose parts are form-encoded', async () => {
  const seen: { authorization: string | undefined; type: string | undefined; body: string }[] = []
  const server = await listen(async (request, response) => {
    const { authorization, 'content-type': type } = request.headers
    seen.push({ authorization, type, body: await textOf(request) })
    answer(response, ACTIVE)
  })
  const { outcome } = await openBench([{ url: server.url, clientId: 'a:b c', clientSecret: 'ü+%' }])
  expect(await outcome('tok~/+=')).toBe('alice')
  expect(seen).toEqual([
    {
      authorization: `Basic ${btoa('a%3Ab+c:%C3%BC%2B%25')}`,
      type: 'application/x-www-form-urlencoded',
      body: 'token=tok%7E%2F%2B%3D&token_type_hint=access_token',
    },
  ])
})

it('a question is asked once for all who bring the credential, and not again while it is remembered', async () => {
  const server = await listen((_, response) => void setImmediate(() => answer(response, ACTIVE)))
  const self = await openBench([{ url: server.url }])
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => self.outcome('tok'))))).toEqual(new Set(['alice']))
  await self.outcome('tok')
  expect(server.hits).toBe(1)
  self.travel(10_001)
  await self.outcome('tok')
  expect(server.hits).toBe(2)
})

it('a question is never asked about an access key', async () => {
  const server = await listen((_, response) => answer(response, ACTIVE))
  const self = await openBench([{ url: server.url }])
  expect(await self.outcome(`gw_${'a'.repeat(43)}`)).toBe('unauthorized')
  expect(server.hits).toBe(0)
})

it('a question is asked about a JWT only where no issuer of JWTs is configured', async () => {
  const server = await listen((_, response) => answer(response, ACTIVE))
  const token = jwt({ key: ecKey('k') })
  const alone = await openBench([{ url: server.url }])
  expect(await alone.outcome(token)).toBe('alice')
  const rules = { keys: { kind: 'secret', secret: 'x'.repeat(64) }, algorithms: ['HS256'] } as const
  const beside = await openBench([{ url: server.url }], {}, [rules])
  expect(await beside.outcome(token)).toBe('unauthorized')
  expect(await beside.outcome('two.parts')).toBe('alice')
  expect(server.hits).toBe(2)
})

it('a question goes to the next provider if one does not know the credential, or cannot be asked', async () => {
  const no = await listen((_, response) => answer(response, { active: false }))
  const broken = await listen((_, response) => response.writeHead(500).end())
  const yes = await listen((_, response) => answer(response, ACTIVE))
  const good = await openBench([{ url: no.url }, { url: broken.url }, { url: yes.url }])
  expect(await good.outcome('tok')).toBe('alice')
  const unknown = await openBench([{ url: broken.url }, { url: no.url }])
  expect(await unknown.outcome('tok')).toBe('overloaded')
})

it('a question has a bounded number of others beside it, by few connections', async () => {
  const held: ServerResponse[] = []
  const server = await listen((_, response) => void held.push(response))
  const self = await openBench([{ url: server.url }])
  const outcomes = Array.from({ length: 400 }, (_, i) => self.outcome(`tok-${i}`))
  const above = await Promise.all(outcomes.slice(32 + 256))
  expect(new Set(above)).toEqual(new Set(['overloaded']))
  const busy = () => self.seen.filter((one) => one.type === 'introspection_failed' && one.reason === 'busy').length
  expect(busy()).toBeGreaterThanOrEqual(400 - 32 - 256)
  await expect.poll(() => held.length).toBe(32)
  server.answer = (_, response) => answer(response, ACTIVE)
  for (const response of held) answer(response, ACTIVE)
  const asked = await Promise.all(outcomes.slice(0, 32 + 256))
  expect(new Set(asked.slice(0, 32))).toEqual(new Set(['alice']))
  // On a machine that has much to do the last of these have waited for as long as they may, and each such is reported.
  const late = asked.filter((outcome) => outcome === 'overloaded').length
  expect(asked.filter((outcome) => outcome === 'alice')).toHaveLength(32 + 256 - late)
  expect(busy()).toBe(400 - 32 - 256 + late)
})

it('a question about a credential that was good lately waits for none of the others, and costs nobody anything', async () => {
  const held: ServerResponse[] = []
  const server = await listen((_, response) => answer(response, ACTIVE))
  const self = await openBench([{ url: server.url }])
  await self.outcome('lately')
  self.travel(10_000 + 3_599_999)
  server.answer = (_, response) => void held.push(response)
  const others = Array.from({ length: 100 }, (_, i) => self.outcome(`tok-${i}`))
  await expect.poll(() => held.length).toBe(32)
  server.answer = (_, response) => answer(response, ACTIVE)
  const { places, reserved } = counting()
  expect(await self.auth.authenticate('Bearer lately', places)).toMatchObject({ user: 'alice' })
  expect(reserved).toEqual([])
  for (const response of held) answer(response, ACTIVE)
  await Promise.all(others)
})

it.each([
  ['an hour after it was remembered', 10_000 + 3_600_000, ACTIVE],
  ['after the provider has said no', 10_000 + 10_000, { active: false }],
])('a question about a credential that was good costs as that about any other %s', async (_, ms, between) => {
  const server = await listen((_, response) => answer(response, ACTIVE))
  const self = await openBench([{ url: server.url }])
  await self.outcome('tok')
  if (between !== ACTIVE) {
    server.answer = (_, response) => answer(response, between)
    self.travel(10_000)
    expect(await self.outcome('tok')).toBe('unauthorized')
  }
  self.travel(ms)
  const { places, reserved } = counting()
  await self.auth.authenticate('Bearer tok', places)
  expect(reserved).toEqual([50])
})

it('a question about a new credential of one address comes before most of those of an address that brings hundreds', async () => {
  const held: ServerResponse[] = []
  const server = await listen((_, response) => void held.push(response))
  const self = await openBench([{ url: server.url }])
  const [many, one] = [counting('192.0.2.1'), counting('192.0.2.2')]
  const flood = Array.from({ length: 300 }, (_, i) => self.auth.authenticate(`Bearer wrong-${i}`, many.places))
  await expect.poll(() => held.length).toBe(32)
  const good = self.auth.authenticate('Bearer good', one.places)
  for (const response of held.splice(0, 2)) answer(response, { active: false })
  await expect.poll(() => held.length).toBe(32)
  for (const response of held) answer(response, ACTIVE)
  expect(await good).toMatchObject({ user: 'alice' })
  server.answer = (_, response) => answer(response, { active: false })
  await Promise.all(flood)
})

it('a question takes none of the places for slow checks of signatures', async () => {
  const server = await listen((_, response) => answer(response, ACTIVE))
  const self = await openBench([{ url: server.url }])
  const { places, long } = counting()
  await self.auth.authenticate('Bearer tok', places)
  expect(long).toEqual([false])
})

it('a question that waits is answered although the authenticator closes', async () => {
  const held: ServerResponse[] = []
  const server = await listen((_, response) => void held.push(response))
  const self = await openBench([{ url: server.url }])
  const outcomes = Array.from({ length: 40 }, (_, i) => self.outcome(`tok-${i}`))
  await expect.poll(() => held.length).toBe(32)
  self.auth.close()
  server.answer = (_, response) => answer(response, ACTIVE)
  for (const response of held) answer(response, ACTIVE)
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['alice']))
})

it('a question that is under way is answered although the authenticator closes', async () => {
  let held: ServerResponse | undefined
  const server = await listen((_, response) => {
    held = response
  })
  const self = await openBench([{ url: server.url }])
  const outcome = self.outcome('tok')
  await expect.poll(() => held).toBeDefined()
  self.auth.close()
  if (held !== undefined) answer(held, ACTIVE)
  expect(await outcome).toBe('alice')
})

it('a question is asked again where a connection was closed while it was free', async () => {
  const server = await listen((request, response) => {
    answer(response, ACTIVE)
    response.once('finish', () => request.socket.resetAndDestroy())
  })
  const self = await openBench([{ url: server.url }])
  for (let i = 0; i < 20; i++) expect(await self.outcome(`tok-${i}`)).toBe('alice')
})

it.each([
  ['no', { active: false }, 'the issuer does not know the credential, or it has ended'],
  ['no truth value', { ...ACTIVE, active: 'true' }, 'the issuer does not know the credential, or it has ended'],
  ['nothing of it', { sub: 'alice' }, 'the issuer does not know the credential, or it has ended'],
  ['another audience', { ...ACTIVE, aud: ['others'] }, 'no audience of the configuration is in its claim aud'],
  ['no audience', { ...ACTIVE, aud: undefined }, 'it has no claim aud'],
  ['an end that is over', { ...ACTIVE, exp: NOW / 1000 }, 'expired'],
  ['an end that is no number', { ...ACTIVE, exp: '2030' }, 'exp or nbf is no number'],
  ['a beginning that is to come', { ...ACTIVE, nbf: NOW / 1000 + 31 }, 'nbf is in the future'],
  ['no user', { ...ACTIVE, sub: undefined }, 'sub is no user id'],
  ['a list as its user', { ...ACTIVE, sub: ['alice'] }, 'sub is no user id'],
  ['another type', { ...ACTIVE, token_type: 'DPoP' }, 'the credential is no Bearer token'],
  ['a bound key', { ...ACTIVE, cnf: { jkt: 'x' } }, 'the credential is bound to a key of its client'],
  ['a plan that is none', { ...ACTIVE, plan: { name: 'pro' } }, 'plan is no name of a plan'],
])('what a provider says may be %s: the credential is refused', async (_, claims, reason) => {
  const server = await listen((_, response) => answer(response, claims))
  const { ask } = await openBench([{ url: server.url, planClaim: 'plan' }])
  expect(await ask('tok')).toMatchObject({ code: 'unauthorized', reason: expect.stringContaining(reason) })
})

it('what a provider says names the user, the plan, the organisation and the claims that are forwarded, by path', async () => {
  const app = { uid: 42, plan: 'pro', org: 'acme', admin: true }
  const server = await listen((_, response) => answer(response, { ...ACTIVE, app, token_type: 'bearer' }))
  const claims = { userClaim: 'app.uid', planClaim: 'app.plan', organisationClaim: 'app.org' }
  const { ask } = await openBench([{ url: server.url, ...claims }], { claims: ['app.admin'] })
  expect(await ask('tok')).toEqual({
    ...{ user: '42', kind: 'introspected', plan: 'pro', organisation: 'acme', claims: { 'app.admin': 'true' } },
  })
})

it('what a provider says holds no longer than the end that it names', async () => {
  const server = await listen((_, response) => answer(response, { ...ACTIVE, exp: NOW / 1000 + 3 }))
  const self = await openBench([{ url: server.url }])
  expect(await self.outcome('tok')).toBe('alice')
  self.travel(2_999)
  expect(await self.outcome('tok')).toBe('alice')
  expect(server.hits).toBe(1)
  self.travel(3_000)
  expect(await self.outcome('tok')).toBe('unauthorized')
})

it('what a provider says is remembered for ten seconds where it is a no', async () => {
  const server = await listen((_, response) => answer(response, { active: false }))
  const self = await openBench([{ url: server.url }])
  for (let i = 0; i < 5; i++) await self.outcome('tok')
  expect(server.hits).toBe(1)
  server.answer = (_, response) => answer(response, ACTIVE)
  self.travel(10_000)
  expect(await self.outcome('tok')).toBe('alice')
})

it('what a provider says costs the address that asked unless it is a yes, also where it is an error, and not where nobody was asked', async () => {
  const server = await listen((_, response) => answer(response, { active: false }))
  const self = await openBench([{ url: server.url }])
  const { places, reserved, left } = counting()
  await self.auth.authenticate('Bearer tok', places)
  await self.auth.authenticate('Bearer tok', places)
  expect([reserved, left]).toEqual([[50], [50]])
  server.answer = (_, response) => answer(response, ACTIVE)
  await self.auth.authenticate('Bearer good', places)
  server.answer = (_, response) => response.writeHead(500).end()
  await self.auth.authenticate('Bearer unknown', places)
  expect([reserved, left]).toEqual([
    [50, 50, 50],
    [50, 0, 50],
  ])
  server.answer = (request) => request.socket.destroy()
  let tries = 0
  const isOut = async (): Promise<boolean> => {
    await self.auth.authenticate(`Bearer out-${tries++}`, places)
    return self.seen.some(({ type }) => type === 'introspection_out')
  }
  await expect.poll(isOut, { timeout: 10_000, interval: 100 }).toBe(true)
  await self.auth.authenticate('Bearer not-asked', places)
  expect(left.at(-1)).toBe(0)
})

it('what a provider says is not asked for an address that may ask no more', async () => {
  const server = await listen((_, response) => answer(response, ACTIVE))
  const self = await openBench([{ url: server.url }])
  const refusal: Denial = { code: 'too_many_in_flight', msg: 'no' }
  const places = () => ({ party: '', enter: () => refusal, leave: () => {} })
  expect(await self.auth.authenticate('Bearer tok', places)).toBe(refusal)
  expect(server.hits).toBe(0)
})

describe('a provider that fails', () => {
  it.each<[string, RequestListener]>([
    ['by a status', (_, response) => response.writeHead(500).end('x')],
    ['by a redirect', (_, response) => response.writeHead(307, { location: '/elsewhere' }).end()],
    ['by what is no JSON', (_, response) => response.end('<html>')],
    ['by a list', (_, response) => response.end('[]')],
    [
      'by one name twice',
      (_, response) => response.end('{"active":false,"active":true,"sub":"alice","aud":"score-gateway"}'),
    ],
    ['by an answer without end', (_, response) => response.end(JSON.stringify({ ...ACTIVE, a: 'a'.repeat(2 ** 17) }))],
    ['by closing the connection', (request) => request.socket.destroy()],
    ['by no answer', () => {}],
    ['by half an answer', (_, response) => void response.writeHead(200, { 'content-length': 100 }).write('{')],
  ])('%s lets nobody in, and says that nobody knows', async (_, behave) => {
    const server = await listen(behave)
    const self = await openBench([{ url: server.url }])
    expect(await self.ask('tok')).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '1' } })
    expect(self.seen.filter(({ type }) => type === 'introspection_failed')).toHaveLength(1)
    server.answer = (_, response) => answer(response, ACTIVE)
    expect(await self.outcome('tok')).toBe('alice')
  })

  it('several times is out: few ask it, and that it is out and back is told once', async () => {
    const server = await listen((_, response) => response.writeHead(503).end())
    const self = await openBench([{ url: server.url }])
    for (let i = 0; i < 3; i++) await self.outcome(`tok-${i}`)
    expect(server.hits).toBe(3)
    for (let i = 0; i < 40; i++) expect(await self.outcome(`tok-${i}`)).toBe('overloaded')
    expect(server.hits).toBeLessThan(10)
    server.answer = (_, response) => answer(response, ACTIVE)
    await expect.poll(() => self.outcome('tok'), { timeout: 10_000, interval: 200 }).toBe('alice')
    for (let i = 0; i < 5; i++) expect(await self.outcome(`back-${i}`)).toBe('alice')
    const told = self.seen.flatMap(({ type }) => (/^introspection_(out|recovered)$/.test(type) ? [type] : []))
    expect(told).toEqual(['introspection_out', 'introspection_recovered'])
  })

  it('a provider that fails is not asked any more about those that wait, once it is out', async () => {
    const held: ServerResponse[] = []
    const server = await listen((_, response) => void held.push(response))
    const self = await openBench([{ url: server.url }])
    const outcomes = Array.from({ length: 200 }, (_, i) => self.outcome(`tok-${i}`))
    await expect.poll(() => held.length).toBe(32)
    for (const response of held) response.writeHead(500).end()
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['overloaded']))
    expect(server.hits).toBeLessThan(40)
  })

  it.each([400, 403, 413])(
    'on some credentials only, by %d, is not out for the others, and they cost who brings them',
    async (status) => {
      const server = await listen(async (request, response) => {
        if ((await textOf(request)).includes('passwd')) response.writeHead(status).end()
        else answer(response, ACTIVE)
      })
      const self = await openBench([{ url: server.url }])
      const { places, left: spent } = counting()
      for (let i = 0; i < 5; i++) {
        expect(await self.auth.authenticate(`Bearer ../etc/passwd${i}`, places)).toMatchObject({ code: 'overloaded' })
      }
      expect(spent.every((tenths) => tenths > 0)).toBe(true)
      expect(await self.outcome('good')).toBe('alice')
      expect(self.seen.map(({ type }) => type)).not.toContain('introspection_out')
    },
  )

  it('on some credentials only, as a service that breaks, is not out while others get answers', async () => {
    const server = await listen(async (request, response) => {
      if ((await textOf(request)).includes('breaks')) response.writeHead(500).end()
      else answer(response, ACTIVE)
    })
    const self = await openBench([{ url: server.url }])
    expect(await self.outcome('good')).toBe('alice')
    for (let i = 0; i < 5; i++) expect(await self.outcome(`breaks-${i}`)).toBe('overloaded')
    expect(await self.outcome('another')).toBe('alice')
  })

  it('a provider that fails is no reason to forget what is known', async () => {
    const server = await listen((_, response) => answer(response, ACTIVE))
    const self = await openBench([{ url: server.url }])
    expect(await self.outcome('tok')).toBe('alice')
    server.answer = (_, response) => response.writeHead(500).end()
    expect(await self.outcome('tok')).toBe('alice')
    self.travel(10_000)
    expect(await self.outcome('tok')).toBe('overloaded')
  })

  it('a provider that fails gives nothing away: neither credential nor secret are in what is observed', async () => {
    const server = await listen(async (request, response) => void response.end(await textOf(request)))
    const self = await openBench([{ url: `${server.url}?key=CANARY`, clientSecret: 'CANARY' }])
    const results = await Promise.all([1, 2, 3, 4].map((i) => self.ask(`CANARY-${i}`)))
    expect(results).toHaveLength(4)
    expect(JSON.stringify([results, self.seen])).not.toMatch(/canary/i)
  })
})

/** @param start what its clock shows */
async function openBench(
  providers: Partial<IntrospectionOptions>[],
  options: Partial<AuthOptions> = {},
  issuers: Partial<IssuerOptions>[] = [],
  start = NOW,
) {
  const defaults = {
    url: '',
    clientId: 'gw',
    clientSecret: 's',
    audiences: [AUDIENCE],
    audienceClaim: 'aud',
    userClaim: 'sub',
  }
  const introspection = providers.map((provider) => ({ ...defaults, ...provider }))
  const self = await bench(issuers, { introspection, ...options })
  self.time = start
  opened.push(self)
  const travel = (ms: number): void => {
    self.time = start + ms
  }
  return Object.assign(self, { travel })
}

async function listen(behave: RequestListener): Promise<TestServer> {
  const server = await serve(behave)
  servers.push(server)
  return server
}

function answer(response: ServerResponse, claims: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(claims))
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

/** @param party who brings it */
function counting(party = '') {
  const [reserved, left]: [number[], number[]] = [[], []]
  const long: boolean[] = []
  const enter = (cost: number, isLong: boolean): null => {
    reserved.push(cost)
    long.push(isLong)
    return null
  }
  const places = (): CheckPlaces => ({ party, enter, leave: (spent) => void left.push(spent) })
  return { places, reserved, long, left }
}
