import { ADDRESS_PREFIX, createAddressCallers } from '../auth/address-callers.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { createCallerResolver } from '../auth/caller-resolver.ts'
import { CERTIFICATE_PREFIX, type CertificateRules } from '../auth/client-certificate.ts'
import type { IsWatchedOnly } from '../auth/unverified-keys.ts'
import type { AuthConfig, Config } from '../config/config.ts'
import { KEY_PREFIX } from '../control/user-id.ts'
import type { CredentialPlaces } from '../forward/contract.ts'
import type { CallerRules } from '../gateway/snapshot.ts'

/** Who asks, by one configuration. */
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

function lowerCase({ user, organisation, plan }: NonNullable<AuthConfig['trusted']>) {
  const lower = (name: string | null) => name?.toLowerCase() ?? null
  return { user: user.toLowerCase(), organisation: lower(organisation), plan: lower(plan) }
}

/** Where clients' credentials may be, for whoever forwards the rest. */
export function credentialPlacesOf({ from, unverifiedKeys, trusted }: AuthConfig): CredentialPlaces {
  const named = (kind: 'cookie' | 'query' | 'websocket_protocol') =>
    from.flatMap((source) => (source.kind === kind ? source.name : []))
  const fields = from.flatMap((source) => {
    if (source.kind === 'bearer') return 'authorization'
    return source.kind === 'header' ? source.name.toLowerCase() : []
  })
  const key = unverifiedKeys?.kind === 'header' ? unverifiedKeys : null
  const kept = key === null ? null : { field: key.name.toLowerCase(), scheme: key.scheme }
  const trustedFields = trusted === null ? [] : [trusted.user, trusted.organisation, trusted.plan]
  return {
    fields: kept === null ? fields : [...fields, kept.field],
    kept,
    cookies: named('cookie'),
    parameters: named('query'),
    subprotocols: named('websocket_protocol'),
    trusted: trustedFields.flatMap((name) => name?.toLowerCase() ?? []),
  }
}
