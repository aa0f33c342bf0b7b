import { ADDRESS_PREFIX, createAddressCallers } from '../auth/address-callers.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { createCallerResolver } from '../auth/caller-resolver.ts'
import { CERTIFICATE_PREFIX, type CertificateRules } from '../auth/client-certificate.ts'
import type { IsWatchedOnly } from '../auth/unverified-keys.ts'
import type { AuthConfig, Config } from '../config/config.ts'
import { KEY_PREFIX } from '../control/user-id.ts'
import type { CallerRules } from '../gateway/snapshot.ts'

/** How callers are identified under one configuration. */
export function callerRulesOf(
  { auth, cors, edge, routes }: Pick<Config, 'auth' | 'cors' | 'edge' | 'routes'>,
  authenticator: Authenticator,
  isProxy: (address: string) => boolean,
  certificates: (() => CertificateRules) | null,
  isWatchedOnly: IsWatchedOnly,
): CallerRules {
  const { from, several, unverifiedKeys, trusted, anonymous, shadow } = auth
  const anonymousStatus = anonymous !== null || routes.some((route) => !route.public && route.anonymous === true)
  const hasAddresses = anonymousStatus || shadow
  const resolver = createCallerResolver({
    authenticator,
    from,
    several,
    unverifiedKeys,
    isWatchedOnly,
    trusted: trusted === null ? null : lowerCase(trusted),
    certificates,
    isProxy,
    origins: cors?.credentials === true ? cors.origins : [],
    reserved: [
      ...(hasAddresses ? [ADDRESS_PREFIX] : []),
      ...(unverifiedKeys === null ? [] : [KEY_PREFIX]),
      ...(certificates === null ? [] : [CERTIFICATE_PREFIX]),
    ],
    maxKey: edge.maxHeaderSize,
  })
  const ofAddress = createAddressCallers(anonymous ?? { ipv4: 32, ipv6: 64, plan: null })
  return { resolve: resolver.resolve, ofAddress, anonymousStatus, shadow }
}

function lowerCase({ user, organisation, plan, encoding }: NonNullable<AuthConfig['trusted']>) {
  const lower = (name: string | null) => name?.toLowerCase() ?? null
  return { user: user.toLowerCase(), organisation: lower(organisation), plan: lower(plan), encoding }
}
