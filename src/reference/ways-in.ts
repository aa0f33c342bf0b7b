import type { Config } from '../config/config.ts'
import type { Json } from './json.ts'
import type { Access } from './matching.ts'

/** How a client says who it is, as OpenAPI 3.1 writes it. A subprotocol has no form there: a handshake is no operation. */
export interface WaysIn {
  /** By the name that a requirement uses. */
  readonly schemes: Record<string, Json>
  /** What an operation asks for, any one of them; empty where it asks for nothing. */
  of(access: Access): Json[]
  /** The parameters that they stand in, as `header NAME` in lower case, `query NAME` or `cookie NAME`. */
  readonly parameters: readonly string[]
  /** What an operation asks for whose rule says nothing of it, and the status of the quota. */
  readonly byDefault: Json[]
}

type Auth = Config['auth']
type Source = Auth['from'][number]

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

/** An empty requirement lets in who has no credential. */
const NOTHING: Json = {}
const CERTIFICATE: readonly [string, Json] = [
  'certificate',
  { type: 'mutualTLS', description: 'A certificate of the client.' },
]

function schemeOf(source: Source, description: string): readonly [string, Json] | null {
  switch (source.kind) {
    case 'bearer':
      return ['bearer', { type: 'http', scheme: 'bearer', description }]
    case 'header': {
      const { name, scheme } = source
      if (scheme === null) return [`header.${wordOf(name)}`, { type: 'apiKey', in: 'header', name, description }]
      if (name.toLowerCase() === 'authorization') return [wordOf(scheme), { type: 'http', scheme, description }]
      const text = `${description} It stands behind \`${scheme} \`.`
      return [`header.${wordOf(name)}`, { type: 'apiKey', in: 'header', name, description: text }]
    }
    case 'cookie':
    case 'query': {
      const { kind, name } = source
      return [`${kind}.${wordOf(name)}`, { type: 'apiKey', in: kind, name, description }]
    }
    case 'websocket_protocol':
      return null
  }
}

/** The name of a component has these characters only. */
const wordOf = (name: string) => name.replace(/[^\w.-]/g, '_')

function kinds({ jwt, introspection, gatewayTokens }: Auth): string {
  const all = [
    ...(jwt.length > 0 ? ['a JWT'] : []),
    ...(introspection.length > 0 ? ['a token of the provider'] : []),
    ...(gatewayTokens ? ['an access key (`gw_…`)'] : []),
  ]
  if (all.length === 0) return 'No credential is accepted.'
  return `${all.join(' or ')}. Whoever runs this service has one for you.`.replace(/^a/, 'A')
}

function parameterOf(source: Source): string[] {
  if (source.kind === 'header') return [`header ${source.name.toLowerCase()}`]
  return source.kind === 'cookie' || source.kind === 'query' ? [`${source.kind} ${source.name}`] : []
}
