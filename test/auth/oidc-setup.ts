import { generateKeyPairSync } from 'node:crypto'
import Provider from 'oidc-provider'
import { AUDIENCE, serve, type TestServer } from './support.ts'

/** A whole OpenID provider on this machine: its tokens, its key set, its rotation. */
export interface OidcProvider {
  readonly issuer: string
  /** Starts the provider anew, at the same address, with these keys; the first one signs. */
  restartWith(...keys: object[]): void
  /** Where it publishes its keys. */
  jwksUri(): Promise<string>
  /** A new access token of its one client, `score-bot`, as a JWT signed with ES256. */
  fetchToken(): Promise<string>
  close(): Promise<void>
}

const CLIENT = { client_id: 'score-bot', client_secret: 'a secret of the test client' }
const RESOURCE = `urn:${AUDIENCE}`

export async function startProvider(): Promise<OidcProvider> {
  const server: TestServer = await serve((_, response) => response.end())
  const issuer = new URL(server.url).origin

  function restartWith(...keys: object[]): void {
    server.answer = providerOf(issuer, keys).callback()
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
    const { access_token, token_type } = (await response.json()) as { access_token: string; token_type: string }
    if (token_type !== 'Bearer') throw new Error(`the provider gave no Bearer token but ${token_type}`)
    return access_token
  }

  const jwksUri = async (): Promise<string> => (await discover()).jwks_uri
  return { issuer, restartWith, jwksUri, fetchToken, close: () => server.close() }
}

function providerOf(issuer: string, keys: readonly object[]): Provider {
  return new Provider(issuer, {
    jwks: { keys: [...keys] },
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
}

export function signingKey(kid: string): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' }
}
