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
  /** Where it is asked about tokens. */
  introspectionUri(): Promise<string>
  /** A new access token of its one client, `score-bot`: a JWT signed with ES256, or one that says nothing by itself. */
  fetchToken(): Promise<string>
  revoke(token: string): Promise<void>
  close(): Promise<void>
}

export const CLIENT = { client_id: 'score-bot', client_secret: 'a secret of the test client' }
const RESOURCE = `urn:${AUDIENCE}`

export async function startProvider(format: 'jwt' | 'opaque' = 'jwt'): Promise<OidcProvider> {
  const server: TestServer = await serve((_, response) => response.end())
  const issuer = new URL(server.url).origin

  function restartWith(...keys: object[]): void {
    server.answer = providerOf(issuer, keys, format).callback()
  }

  async function discover(): Promise<Endpoints> {
    const response = await fetch(`${issuer}/.well-known/openid-configuration`)
    return (await response.json()) as Endpoints
  }

  async function post(endpoint: string, form: Record<string, string>): Promise<Response> {
    const authorization = `Basic ${btoa(`${encodeURIComponent(CLIENT.client_id)}:${encodeURIComponent(CLIENT.client_secret)}`)}`
    return fetch(endpoint, { method: 'POST', headers: { authorization }, body: new URLSearchParams(form) })
  }

  async function revoke(token: string): Promise<void> {
    const { status } = await post((await discover()).revocation_endpoint, { token })
    if (status !== 200) throw new Error(`the provider answered ${status}`)
  }

  async function fetchToken(): Promise<string> {
    const { token_endpoint } = await discover()
    const form = { grant_type: 'client_credentials', resource: RESOURCE, scope: 'score:write' }
    const response = await post(token_endpoint, form)
    const { access_token, token_type } = (await response.json()) as { access_token: string; token_type: string }
    if (token_type !== 'Bearer') throw new Error(`the provider gave no Bearer token but ${token_type}`)
    return access_token
  }

  const jwksUri = async (): Promise<string> => (await discover()).jwks_uri
  const introspectionUri = async (): Promise<string> => (await discover()).introspection_endpoint
  return { issuer, restartWith, jwksUri, introspectionUri, fetchToken, revoke, close: () => server.close() }
}

interface Endpoints {
  readonly token_endpoint: string
  readonly jwks_uri: string
  readonly introspection_endpoint: string
  readonly revocation_endpoint: string
}

function providerOf(issuer: string, keys: readonly object[], format: 'jwt' | 'opaque'): Provider {
  return new Provider(issuer, {
    jwks: { keys: [...keys] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clients: [{ ...CLIENT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        getResourceServerInfo: () => ({
          scope: 'score:write',
          audience: AUDIENCE,
          accessTokenTTL: 3600,
          accessTokenFormat: format,
          ...(format === 'jwt' && { jwt: { sign: { alg: 'ES256' } } }),
        }),
      },
    },
  })
}

export function signingKey(kid: string): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' }
}
