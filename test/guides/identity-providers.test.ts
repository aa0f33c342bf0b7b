import { readFileSync } from 'node:fs'
import http from 'node:http'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { listening } from '../setup/listening.ts'

/** docs/guides/identity-providers.md: the lines of each provider take tokens of the shape that its documentation shows. */

const PAGE = readFileSync('docs/guides/identity-providers.md', 'utf8')

interface Issuer {
  readonly issuer: string
  readonly jwks: string
}

/** The lines of a provider. */
function issuerOf(provider: string): Issuer {
  const [, block = ''] = new RegExp(`^## ${provider}$[\\s\\S]*?^\`\`\`yaml\\n([\\s\\S]*?)^\`\`\``, 'm').exec(PAGE) ?? []
  expect(block.trimEnd().split('\n').length).toBeLessThanOrEqual(10)
  return (parse(block) as { auth: { jwt: [Issuer] } }).auth.jwt[0]
}

let upstream: Upstream
let app: RunningApp
let sign: (claims: Readonly<Record<string, unknown>>, typ?: string) => Promise<string>
let key: JWK
let others: JWK[]
beforeAll(async () => {
  upstream = await startUpstream()
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  key = { ...(await exportJWK(publicKey)), kid: 'signs', use: 'sig' }
  const encrypts = await generateKeyPair('RSA-OAEP')
  others = [{ ...(await exportJWK(encrypts.publicKey)), kid: 'encrypts', use: 'enc', alg: 'RSA-OAEP' }]
  sign = (claims, typ = 'JWT') =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'signs', typ })
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
})

/** A gateway with the lines of the page, whose keys come from here. */
async function start(issuer: Issuer, keys: readonly JWK[]): Promise<void> {
  const server = http.createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ keys }))
  })
  const jwks = `http://127.0.0.1:${await listening(server)}/keys`
  const text = yaml(upstream.url, 'routes: [{ match: GET /x, category: read }]')
  app = await startApp(text.replace(/jwt: \[.*\]/, `jwt: [${JSON.stringify({ ...issuer, jwks })}]`))
  const { stop } = app
  app = { ...app, stop: () => stop().then(() => void server.close()) }
}

/** Whom the upstream is told of, or the reason for a 401. */
async function ask(token: string): Promise<string> {
  const response = await fetch(`${app.url}/x`, { headers: { authorization: `Bearer ${token}` } })
  await response.text()
  if (response.status !== 200) return app.requests().at(-1)?.reason ?? ''
  return decodeURIComponent(String(upstream.seen.at(-1)?.headers['x-tollgate-user']))
}

it('Keycloak: a token for account is known by its client, and one with an audience mapper by that', async () => {
  const issuer = issuerOf('Keycloak')
  const claims = {
    iss: issuer.issuer,
    jti: 'onrtac:5b8a6e0e-6f3c-4c0e-9b0a-1b1f1a7c2d3e',
    aud: 'account',
    sub: '8f2a1c9e-5a47-4a63-93d0-0a7a3f5e2b11',
    typ: 'Bearer',
    azp: 'shop-web',
    sid: '6d1f1b0e-9a51-4b0c-8a37-7c0b5f8d9e10',
    acr: '1',
    'allowed-origins': ['https://shop.example.org'],
    realm_access: { roles: ['default-roles-shop', 'offline_access', 'uma_authorization'] },
    resource_access: { account: { roles: ['manage-account', 'view-profile'] } },
    scope: 'openid profile email',
    email_verified: true,
    preferred_username: 'alice',
  }
  await start(issuer, [...others, { ...key, alg: 'RS256' }])
  expect(await ask(await sign(claims))).toBe(claims.sub)
  const { aud: _, ...withoutAudience } = claims
  expect(await ask(await sign(withoutAudience))).toBe(claims.sub)
  expect(await ask(await sign({ ...claims, azp: 'another-client' }))).toContain('is in its claim azp')
  await app.stop()
  const { audience_claim: __, ...mapped } = { audience_claim: '', ...issuer, audience: 'shop-api' }
  await start(mapped, [...others, { ...key, alg: 'RS256' }])
  expect(await ask(await sign({ ...claims, aud: ['shop-api', 'account'] }))).toBe(claims.sub)
  expect(await ask(await sign(claims))).toContain('Keycloak: azp')
})

it('Auth0: a token for the API and for userinfo, of a user and of a machine', async () => {
  const issuer = issuerOf('Auth0')
  await start(issuer, [{ ...key, alg: 'RS256' }])
  const user = {
    iss: 'https://shop.eu.auth0.com/',
    sub: 'auth0|507f1f77bcf86cd799439020',
    aud: ['https://api.example.org', 'https://shop.eu.auth0.com/userinfo'],
    azp: 'my_client_id',
    scope: 'openid profile read:items',
  }
  expect(await ask(await sign(user))).toBe(user.sub)
  const { aud: _, ...machine } = { ...user, sub: 'my_client_id@clients', gty: 'client-credentials' }
  expect(await ask(await sign({ ...machine, aud: 'https://api.example.org' }, 'at+jwt'))).toBe(machine.sub)
  expect(await ask(await sign({ ...user, iss: 'https://shop.eu.auth0.com' }))).toBe('unknown issuer')
})

it('Okta: a token of the server default names the user by uid, and a machine has none', async () => {
  const issuer = issuerOf('Okta')
  await start(issuer, [{ ...key, alg: 'RS256' }])
  const user = {
    ver: 1,
    jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE',
    iss: 'https://shop.okta.com/oauth2/default',
    aud: 'api://default',
    cid: '0oa5kj5eLkK1Oe5N50h7',
    uid: '00uid4BxXw6I6TV4m0g3',
    scp: ['openid', 'profile'],
    auth_time: 1_700_000_000,
    sub: 'alice@example.org',
  }
  expect(await ask(await sign(user))).toBe(user.uid)
  const { uid: _, ...machine } = user
  expect(await ask(await sign({ ...machine, sub: machine.cid }))).toBe('uid is no user id')
})

it('Entra ID: a token of version 2, whose keys name no algorithm', async () => {
  const issuer = issuerOf('Microsoft Entra ID')
  await start(issuer, [{ ...key, x5t: 'signs', x5c: [] } as JWK])
  const tid = 'aaaabbbb-0000-cccc-1111-dddd2222eeee'
  const user = {
    aud: '00001111-aaaa-2222-bbbb-3333cccc4444',
    iss: `https://login.microsoftonline.com/${tid}/v2.0`,
    azp: '11112222-bbbb-3333-cccc-4444dddd5555',
    azpacr: '0',
    name: 'Alice',
    oid: '00000000-0000-0000-66f3-3332eca7ea81',
    preferred_username: 'alice@example.org',
    scp: 'access',
    sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
    tid,
    ver: '2.0',
  }
  expect(await ask(await sign(user))).toBe(user.oid)
  expect(await ask(await sign({ ...user, iss: `https://sts.windows.net/${tid}/` }))).toBe('unknown issuer')
  expect(await ask(await sign({ ...user, aud: `api://${user.aud}` }))).toContain('meant for another audience')
})

it('Cognito: an access token is known by its app client, and an ID token is refused', async () => {
  const issuer = issuerOf('Amazon Cognito')
  await start(issuer, [{ ...key, alg: 'RS256' }])
  const user = {
    sub: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
    iss: 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab12Cd34E',
    client_id: '1h57kf5cpq17m0eml12EXAMPLE',
    origin_jti: 'aaaaaaaa-bbbb-cccc-dddd-ffffffffffff',
    token_use: 'access',
    scope: 'openid',
    username: 'alice',
  }
  expect(await ask(await sign(user))).toBe(user.sub)
  const { client_id, scope: _, ...identity } = user
  expect(await ask(await sign({ ...identity, aud: client_id, token_use: 'id' }))).toContain(
    'meant for another audience',
  )
})
