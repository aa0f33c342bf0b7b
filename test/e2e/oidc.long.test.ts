import { beforeAll, expect, it } from 'vitest'
import { type OidcProvider, signingKey, startProvider } from '../auth/oidc-setup.ts'
import { AUDIENCE } from '../auth/support.ts'
import { type RunningApp, startApp, startUpstream, type Upstream } from './harness.ts'

let provider: OidcProvider
let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  provider = await startProvider()
  provider.restartWith(signingKey('2026-08'))
  upstream = await startUpstream()
  app = await startApp(`
listen: 127.0.0.1:0
upstream: { url: "${upstream.url}" }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0" }
auth:
  jwt:
    - issuer: ${provider.issuer}
      audience: ${AUDIENCE}
      jwks: ${await provider.jwksUri()}
      algorithms: [ES256]
      user_claim: client_id
quota: { baselines: { personal: { read: { 1h: 3 } }, global: { read: { 1h: 100 } } } }
routes: [{ match: "GET /*", category: read, cost: 1 }]
log: { level: fatal, requests: none }
`)
})

const statusWith = async (token: string): Promise<number> =>
  (await fetch(`${app.url}/x`, { headers: { authorization: `Bearer ${token}` } })).status

it('tokens of a real OpenID provider draw on one quota, and a rotation of its keys is followed without a restart', async () => {
  expect(await statusWith(await provider.fetchToken())).toBe(200)
  expect(upstream.seen[0]?.headers['x-tollgate-user']).toBe('score-bot')

  provider.restartWith(signingKey('2026-09'))
  const fresh = await provider.fetchToken()
  // An unknown key is looked up at most once in 30 seconds, so that a flood of forged tokens is no flood for the provider.
  await expect.poll(() => statusWith(fresh), { timeout: 45_000, interval: 1000 }).toBe(200)
  expect(await statusWith(fresh)).toBe(200)
  expect(await statusWith(fresh)).toBe(429)
}, 120_000)
