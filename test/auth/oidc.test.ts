import { beforeAll, describe, expect, it } from 'vitest'
import { type Authenticator, type AuthOptions, createAuthenticator } from '../../src/auth/authenticator.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type OidcProvider, signingKey, startProvider } from './oidc-setup.ts'
import { AUDIENCE, word } from './support.ts'

let provider: OidcProvider
let authenticator: Authenticator
/** Moves the authenticator's clock; the provider's goes on as it is. */
let ahead = 0

beforeAll(async () => {
  provider = await startProvider()
})

async function startGateway(): Promise<void> {
  authenticator?.close()
  ahead = 0
  const options: AuthOptions = {
    issuers: [
      {
        issuer: provider.issuer,
        audiences: [AUDIENCE],
        keys: { kind: 'url', url: await provider.jwksUri() },
        algorithms: ['ES256'],
        userClaim: 'client_id',
        clockToleranceSeconds: 5,
        typ: ['at+jwt'],
      },
    ],
    gatewayTokens: false,
    tokens: { find: () => null, isImported: () => false },
    cache: { max: 100, ttlMs: 10_000 },
    now: () => Date.now() + ahead,
    observe: () => {},
  }
  authenticator = closedAtEnd(await createAuthenticator(options))
}

const outcome = async (token: string) => word(await authenticator.authenticate(`Bearer ${token}`))

describe('with a real OpenID provider', () => {
  it('tokens are accepted, and the rotation of its keys is followed without a restart', async () => {
    const first = signingKey('2026-08')
    const second = signingKey('2026-09')
    provider.restartWith(first)
    await startGateway()
    const old = await provider.fetchToken()
    expect(await outcome(old)).toBe('score-bot')

    // Both keys are published, the new one signs: both tokens are good.
    provider.restartWith(second, first)
    ahead += 31_000
    const fresh = await provider.fetchToken()
    expect(await outcome(fresh)).toBe('score-bot')
    expect(await outcome(old)).toBe('score-bot')

    // The old key is withdrawn: its tokens are good until the key set is fetched again, and no longer.
    provider.restartWith(second)
    ahead += 601_000
    expect(await outcome(old)).toBe('unauthorized')
    expect(await outcome(fresh)).toBe('score-bot')
  }, 60_000)

  it('a token of another one that takes its name and its kid is refused', async () => {
    provider.restartWith(signingKey('2026-08'))
    const foreign = await provider.fetchToken()
    provider.restartWith(signingKey('2026-08'))
    await startGateway()
    expect(await outcome(await provider.fetchToken())).toBe('score-bot')
    expect(await outcome(foreign)).toBe('unauthorized')
  })
})
