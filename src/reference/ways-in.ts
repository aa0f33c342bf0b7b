import type { Config } from '../config/config.ts'
import { type CredentialSource, kindOfSource } from '../inputs/credential-sources.ts'
import type { Json } from './json.ts'
import type { Access } from './matching.ts'

/** The credentials of clients, as OpenAPI 3.1 writes them. A subprotocol has no form there: a handshake is no operation. */
export interface WaysIn {
  /** The schemes by the name that a requirement uses. */
  readonly schemes: Record<string, Json>
  /** The requirements of an operation, any one of which suffices; empty if it needs no credential. */
  of(access: Access): Json[]
  /** The parameters that hold credentials, as `header NAME` in lower case, `query NAME` or `cookie NAME`. */
  readonly parameters: readonly string[]
  /** The requirements of the status of the quota, and of operations whose rule sets none. */
  readonly byDefault: Json[]
}

type Auth = Config['auth']

export function waysIn(auth: Auth): WaysIn {
  const { from, unverifiedKeys, clientCertificate, anonymous, trusted } = auth
  const entries = [
    ...from.map((source) => schemeOf(source, kinds(auth))),
    ...(unverifiedKeys === null ? [] : [schemeOf(unverifiedKeys, 'A key of the service.')]),
    ...(clientCertificate === null ? [] : [CERTIFICATE]),
  ].filter((entry) => entry !== null)
  const named = entries.map(([name]) => ({ [name]: [] }))
  const needed = (isAnonymous: boolean) => (isAnonymous ? [...named, NOTHING] : named)
  return {
    schemes: Object.fromEntries(entries),
    parameters: [
      ...[...from, ...(unverifiedKeys === null ? [] : [unverifiedKeys])].flatMap(parameterOf),
      ...[trusted?.user, trusted?.organisation, trusted?.plan].flatMap((name) =>
        name == null ? [] : [`header ${name.toLowerCase()}`],
      ),
    ],
    of({ route, charged }) {
      if (charged === null) return []
      const own = route === null || route.public ? null : route.anonymous
      return needed(own ?? anonymous !== null)
    },
    byDefault: needed(anonymous !== null),
  }
}

/** An empty requirement admits a client without a credential. */
const NOTHING: Json = {}
const CERTIFICATE: readonly [string, Json] = [
  'certificate',
  { type: 'mutualTLS', description: 'A certificate of the client.' },
]

function schemeOf(source: CredentialSource, description: string): readonly [string, Json] | null {
  const named = kindOfSource(source).scheme(source)
  if (named === null) return null
  const [name, scheme] = named
  const isBehind = source.kind === 'header' && source.scheme !== null && scheme.type === 'apiKey'
  const text = isBehind ? `${description} It stands behind \`${source.scheme} \`.` : description
  return [name, { ...scheme, description: text }]
}

function kinds({ jwt, introspection, gatewayTokens }: Auth): string {
  const all = [
    ...(jwt.length > 0 ? ['a JWT'] : []),
    ...(introspection.length > 0 ? ['a token of the provider'] : []),
    ...(gatewayTokens ? ['an access key (`gw_…`)'] : []),
  ]
  if (all.length === 0) return 'No credential is accepted.'
  return `${all.join(' or ')}. Whoever runs this service has one for you.`.replace(/^a/, 'A')
}

function parameterOf(source: CredentialSource): string[] {
  return [kindOfSource(source).parameter(source) ?? []].flat()
}
