import { generateKeyPairSync } from 'node:crypto'
import Provider from 'oidc-provider'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Authenticator, type AuthOptions, createAuthenticator } from '../../src/auth/authenticator.ts'
import { AUDIENCE, serve, type TestServer, word } from './support.ts'

/** A whole OpenID provider on this machine: its tokens, its key set, its rotation. */

const CLIENT = { client_id: 'score-bot', client_secret: 'a secret of the test client' }
const RESOURCE = `urn:${AUDIENCE}`

let server: TestServer
let issuer: string
let authenticator: Authenticator
/** Moves the authenticator's clock; the provider's goes on as it is. */
let ahead = 0

beforeAll(async () => {
  server = await serve((_, response) => response.end())
  issuer = new URL(server.url).origin
})
afterAll(async () => {
  authenticator?.close()
  await server.close()
})

/** Starts the provider anew, at the same address, with these keys; the first one signs. */
function restartWith(...keys: object[]): void {
  const provider = new Provider(issuer, {
    jwks: { keys },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clients: [{ ...CLIENT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        getResourceServerInfo: () => ({
          scope: 'score:write',
          audience: AUDIENCE,
          accessTokenTTL: 3600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
  server.answer = provider.callback()
}

function signingKey(kid: string): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' }
}

async function discover(): Promise<{ token_endpoint: string; jwks_uri: string }> {
  const response = await fetch(`${issuer}/.well-known/openid-configuration`)
  return (await response.json()) as { token_endpoint: string; jwks_uri: string }
}

async function fetchToken(): Promise<string> {
  const { token_endpoint } = await discover()
  const authorization = `Basic ${btoa(`${encodeURIComponent(CLIENT.client_id)}:${encodeURIComponent(CLIENT.client_secret)}`)}`
  const body = new URLSearchParams({ grant_type: 'client_credentials', resource: RESOURCE, scope: 'score:write' })
  const response = await fetch(token_endpoint, { method: 'POST', headers: { authorization }, body })
  const answer = (await response.json()) as { access_token: string }
  expect(answer).toMatchObject({ token_type: 'Bearer' })
  return answer.access_token
}

async function startGateway(): Promise<void> {
  authenticator?.close()
  ahead = 0
  const { jwks_uri } = await discover()
  const options: AuthOptions = {
    issuers: [
      {
        issuer,
        audiences: [AUDIENCE],
        keys: { kind: 'url', url: jwks_uri },
        algorithms: ['ES256'],
        userClaim: 'client_id',
        clockToleranceSeconds: 5,
        typ: ['at+jwt'],
      },
    ],
    gatewayTokens: false,
    tokens: { findToken: async () => null },
    cache: { max: 100, ttlMs: 10_000 },
    now: () => Date.now() + ahead,
    observe: () => {},
  }
  authenticator = await createAuthenticator(options)
}

const outcome = async (token: string) => word(await authenticator.authenticate(`Bearer ${token}`))

describe('with a real OpenID provider', () => {
  it('tokens are accepted, and the rotation of its keys is followed without a restart', async () => {
    const first = signingKey('2026-08')
    const second = signingKey('2026-09')
    restartWith(first)
    await startGateway()
    const old = await fetchToken()
    expect(await outcome(old)).toBe('score-bot')

    // Both keys are published, the new one signs: both tokens are good.
    restartWith(second, first)
    ahead += 31_000
    const fresh = await fetchToken()
    expect(await outcome(fresh)).toBe('score-bot')
    expect(await outcome(old)).toBe('score-bot')

    // The old key is withdrawn: its tokens are good until the key set is fetched again, and no longer.
    restartWith(second)
    ahead += 601_000
    expect(await outcome(old)).toBe('unauthorized')
    expect(await outcome(fresh)).toBe('score-bot')
  })

  it('a token of another one that takes its name and its kid is refused', async () => {
    restartWith(signingKey('2026-08'))
    await startGateway()
    expect(await outcome(await fetchToken())).toBe('score-bot')
    restartWith(signingKey('2026-08'))
    expect(await outcome(await fetchToken())).toBe('unauthorized')
  })
})
