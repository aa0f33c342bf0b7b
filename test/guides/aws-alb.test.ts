import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, expect, it } from 'vitest'
import { ask, type Door } from './ask.ts'
import { HOST, type RunningGuide, startGuide } from './page.ts'
import { askEverything } from './questions.ts'
import { EXPRESS_SPELLINGS, type Items, type Service, startService } from './service.ts'
import { appended, type Rewrite, startStandIn } from './stand-in.ts'

/** docs/guides/aws-alb.md, against what AWS says of the fields of an ALB, and of an access token of Cognito. */

const ISSUER = 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI'

/** Who is signed in is in the cookie. Of the client's own fields it takes none away. */
const alb: Rewrite = ({ cookie, ...fields }, client) => ({
  ...fields,
  'x-forwarded-for': appended(fields['x-forwarded-for'], client),
  'x-forwarded-proto': 'https',
  'x-forwarded-port': '443',
  'x-amzn-trace-id': 'Root=1-67891233-abcdef012345678912345678',
  ...(cookie === undefined ? {} : signedIn(cookie)),
})

/** With `routing.http.xff_client_port.enabled`. */
const withPorts: Rewrite = (fields, client, host) => alb(fields, `${client}:5678`, host)

function signedIn(user: string): Record<string, string> {
  return {
    'x-amzn-oidc-identity': user,
    'x-amzn-oidc-accesstoken': tokens.get(user) ?? '',
    'x-amzn-oidc-data': 'e30=.e30=.signed-by-the-ALB',
  }
}

let service: Service
let guide: RunningGuide
let proxy: Service
let door: Door
let jwks = ''
const tokens = new Map<string, string>()
const as = (user: string) => ({ headers: { cookie: user } })

/** As Cognito makes them: the app client in `client_id`, and no audience. */
async function makeTokens(users: readonly string[]): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  for (const user of users) {
    const token = new SignJWT({ iss: ISSUER, client_id: '1example23456789', token_use: 'access', sub: user })
    const signed = token.setProtectedHeader({ alg: 'RS256', kid: '1' }).setExpirationTime('1h')
    tokens.set(user, await signed.sign(privateKey))
  }
  return JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: '1', alg: 'RS256', use: 'sig' }] })
}

function start(...more: (readonly [string[], unknown])[]): Promise<RunningGuide> {
  const also = [
    [['edge', 'trusted_proxies'], ['127.0.0.1']],
    [['auth', 'jwt', 0, 'jwks'], 'file:jwks.json'],
    ...more,
  ] as const
  return startGuide('aws-alb', { upstream: service.port, files: { 'jwks.json': jwks }, also })
}

beforeAll(async () => {
  const users = ['alice', 'berta', 'carl', 'dora', 'emil', ...Array.from({ length: 40 }, (_, i) => `speller-${i}`)]
  jwks = await makeTokens(users)
  service = await startService()
  guide = await start()
  proxy = await startStandIn(guide.door.port, alb)
  door = { port: proxy.port, origin: `https://${HOST}` }
})

askEverything(() => ({ door, as, known: (user) => user, spellings: EXPRESS_SPELLINGS }))

it('keeps the facts of the ALB, takes off what it lets through, and keeps the access token to itself', async () => {
  const lies = { 'x-forwarded-host': 'evil.example', 'x-forwarded-prefix': '/evil', forwarded: 'host=evil.example' }
  const { text } = await ask(door, { path: '/v1/items', headers: { ...as('emil').headers, ...lies } })
  const { headers, url } = JSON.parse(text) as Items
  expect(url).toBe(`https://${HOST}/v1/items`)
  expect(headers).toMatchObject({ host: HOST, 'x-forwarded-port': '443', 'x-amzn-oidc-identity': 'emil' })
  expect(JSON.stringify(headers)).not.toContain('evil')
  expect(headers['x-amzn-oidc-accesstoken']).toBeUndefined()
})

it.each([
  ['127.0.0.9', alb],
  ['127.0.0.9:5678', withPorts],
])('tells callers in shadow apart by the address that the ALB saw, as %s', async (_address, rewrite) => {
  const shadow = await start([['auth', 'shadow'], true])
  const before = await startStandIn(shadow.door.port, rewrite)
  try {
    const asked = { path: '/v1/items', headers: { 'x-forwarded-for': '192.0.2.1' }, from: '127.0.0.9' }
    expect((await ask({ ...door, port: before.port }, asked)).status).toBe(200)
    await expect.poll(() => shadow.users()).toEqual(['address:127.0.0.9'])
  } finally {
    await before.stop()
    await shadow.stop()
  }
})

it('believes no identity but that of a token', async () => {
  const headers = { 'x-amzn-oidc-identity': 'alice', 'x-amzn-oidc-data': 'e30=.e30=.made-up' }
  expect((await ask(door, { path: '/v1/items', headers })).status).toBe(401)
  const bad = { ...headers, 'x-amzn-oidc-accesstoken': `${tokens.get('alice')?.slice(0, -9)}AAAAAAAAA` }
  expect((await ask(door, { path: '/v1/items', headers: bad })).status).toBe(401)
})
