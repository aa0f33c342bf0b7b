import type { People } from '../admin/people.ts'
import type { TrustedProxy } from '../admin/trusted-proxy.ts'
import type { Config } from '../config/config.ts'
import type { SignInProvider } from '../control/sign-in-provider.ts'
import { onceForEach, onDemand } from '../lib/memo.ts'
import { subnetCheck } from './runtime.ts'

/** Signs people in at the dashboard. Each provider is created once for its section of a configuration. */

type Oidc = NonNullable<Config['admin']['oidc']>
type Trusted = NonNullable<Config['admin']['trusted']>

const people = onceForEach(
  (oidc: Oidc): People => ({
    provider: providerOf(oidc),
    host: new URL(oidc.issuer).host,
    claim: oidc.roles.claim,
    roles: oidc.roles.values,
    secret: oidc.clientSecret,
    sessionMs: oidc.sessionMs,
  }),
)
const proxies = onceForEach(({ from, ...fields }: Trusted): TrustedProxy => ({ ...fields, isFrom: subnetCheck(from) }))

export function peopleOf(oidc: Oidc | null): People | null {
  return oidc === null ? null : people(oidc)
}

export function proxyOf(trusted: Trusted | null): TrustedProxy | null {
  return trusted === null ? null : proxies(trusted)
}

/** Loads the OpenID Connect client when somebody first signs in. */
function providerOf({ roles, ...oidc }: Oidc): SignInProvider {
  const provider = onDemand(async () => {
    const { openidProvider } = await import('../oidc/provider.ts')
    return openidProvider({ ...oidc, groupsClaim: roles.claim })
  })
  return {
    begin: async (callback) => (await provider()).begin(callback),
    finish: async (returned, kept) => (await provider()).finish(returned, kept),
  }
}
