import type { Config } from '../config/config.ts'

/** With many issuers only the first ones are named. */
const MOST_ISSUERS = 3

/**
 * Who may call what is charged, as a line for people: `callers: a JWT of https://id.example.org, or an access key of this gateway`.
 * Single rules may also allow callers without a credential.
 */
export function callersLine({ auth }: Config): string {
  const ways = [
    ...(auth.jwt.length > 0 ? [`a JWT of ${issuersOf(auth.jwt.map(({ issuer }) => issuer))}`] : []),
    ...(auth.introspection.length > 0 ? ['a token that auth.introspection knows'] : []),
    ...(auth.clientCertificate === null ? [] : ['a client certificate']),
    ...(auth.gatewayTokens ? ['an access key of this gateway'] : []),
    ...(auth.unverifiedKeys === null ? [] : ['a key that only the upstream checks']),
    ...(auth.trusted === null ? [] : ['a user whom a trusted proxy names']),
    ...(auth.anonymous === null ? [] : ['anybody, by address']),
  ]
  return `callers: ${ways.length === 0 ? 'nobody, as no credential is accepted' : ways.join(', or ')}`
}

function issuersOf(issuers: readonly string[]): string {
  const more = issuers.length - MOST_ISSUERS
  const named = issuers.slice(0, MOST_ISSUERS).join(' or ')
  return more > 0 ? `${named} or ${more} more` : named
}

/** What happens to a path that no rule matches. */
export function otherPathsLine({ unmatched }: Config): string {
  switch (unmatched.kind) {
    case 'refuse':
      return 'paths without a rule: 404'
    case 'forward':
      return 'paths without a rule: forwarded without a credential or a charge (unmatched)'
    case 'charge':
      return `paths without a rule: charged as ${unmatched.category} (unmatched)`
  }
}
