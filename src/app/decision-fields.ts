import type { CredentialSource } from '../auth/credential-sources.ts'
import type { Config } from '../config/config.ts'
import { foldedName } from '../lib/field-names.ts'

/**
 * The fields of a request by which one configuration decides, as `foldedName` has them, beside those by which every one does: keys of
 * repetition, credentials, unverified keys, what a trusted proxy says of the caller, and what a page asks by.
 *
 * The listener takes its rules from here, so that what a decision was read from is what is forwarded: `Connection` names none of them,
 * and no other spelling of them passes.
 */
export function decisionFieldsOf({
  auth,
  cors,
  routes,
}: Pick<Config, 'auth' | 'cors' | 'routes'>): ReadonlySet<string> {
  const { from, unverifiedKeys, trusted } = auth
  const names = [
    ...routes.flatMap((route) => (route.public || route.idempotency == null ? [] : route.idempotency.header)),
    ...[...from, ...(unverifiedKeys === null ? [] : [unverifiedKeys])].flatMap(fieldOf),
    ...(trusted === null ? [] : [trusted.user, trusted.organisation, trusted.plan]),
    ...(cors === null ? [] : ['origin', 'access-control-request-method', 'access-control-request-headers']),
  ]
  return new Set(names.filter((name) => name !== null).map(foldedName))
}

function fieldOf(source: CredentialSource): string {
  switch (source.kind) {
    case 'bearer':
      return 'authorization'
    case 'header':
      return source.name
    case 'cookie':
      return 'cookie'
    case 'query':
      // A page that was asked for by such a query is named there, with the credential.
      return 'referer'
    case 'websocket_protocol':
      return 'sec-websocket-protocol'
  }
}
