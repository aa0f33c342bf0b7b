/** Where a credential may be. */
export type CredentialSource =
  | { readonly kind: 'bearer' }
  /** A field that holds the credential alone, or behind a scheme as `Authorization` has it. */
  | { readonly kind: 'header'; readonly name: string; readonly scheme: string | null }
  | { readonly kind: 'cookie'; readonly name: string }
  | { readonly kind: 'query'; readonly name: string }
  /** `Sec-WebSocket-Protocol: NAME, CREDENTIAL` of a handshake. */
  | { readonly kind: 'websocket_protocol'; readonly name: string }

type Kind = CredentialSource['kind']
type SourceOf<K extends Kind> = Extract<CredentialSource, { kind: K }>

/** A security scheme of OpenAPI with its name; its description is added. */
type Scheme = readonly [name: string, scheme: Readonly<Record<string, string>>]

/** All that is said of one kind of source. How it is read is said in `auth/credential-sources.ts`. */
interface SourceKind<S> {
  /** The field of a request in which the credential is. */
  field(source: S): string
  /** In a 401. `null` for Bearer, whose challenge also says what is wrong with a credential. */
  challenge(source: S): string | null
  /** `null` if OpenAPI has no word for it. */
  scheme(source: S): Scheme | null
  /** A place that a parameter of an API could have, too, as `header x-api-key`; `null` for none. */
  parameter(source: S): string | null
  /** What curl is called with to send a credential that somebody made up. */
  curl(source: S): string
  /** What the upstream does not get, as a list of `CredentialPlaces` has it. */
  hidden(source: S): readonly [HiddenIn, string]
}

/** Lists of `CredentialPlaces`. */
export type HiddenIn = 'fields' | 'cookies' | 'parameters' | 'subprotocols'

const KINDS: { readonly [K in Kind]: SourceKind<SourceOf<K>> } = {
  bearer: {
    field: () => 'authorization',
    challenge: () => null,
    scheme: () => ['bearer', { type: 'http', scheme: 'bearer' }],
    parameter: () => null,
    curl: () => "-H 'Authorization: Bearer made-up-1'",
    hidden: () => ['fields', 'authorization'],
  },
  header: {
    field: ({ name }) => name,
    challenge({ name, scheme }) {
      if (scheme === null) return `ApiKey realm="tollgate", header="${name}"`
      return scheme.toLowerCase() === 'bearer' ? null : `${scheme} realm="tollgate"`
    },
    scheme({ name, scheme }) {
      if (scheme === null || name.toLowerCase() !== 'authorization') return apiKey('header', name)
      return [wordOf(scheme), { type: 'http', scheme }]
    },
    parameter: ({ name }) => `header ${name.toLowerCase()}`,
    curl: ({ name, scheme }) => `-H '${name}: ${scheme === null ? '' : `${scheme} `}made-up-1'`,
    hidden: ({ name }) => ['fields', name.toLowerCase()],
  },
  cookie: {
    field: () => 'cookie',
    challenge: () => null,
    scheme: ({ name }) => apiKey('cookie', name),
    parameter: ({ name }) => `cookie ${name}`,
    curl: ({ name }) => `-b '${name}=made-up-1'`,
    hidden: ({ name }) => ['cookies', name],
  },
  query: {
    // A page that was asked for by such a query is named there, with the credential.
    field: () => 'referer',
    challenge: () => null,
    scheme: ({ name }) => apiKey('query', name),
    parameter: ({ name }) => `query ${name}`,
    curl: ({ name }) => `'…?${name}=made-up-1'`,
    hidden: ({ name }) => ['parameters', name],
  },
  websocket_protocol: {
    field: () => 'sec-websocket-protocol',
    challenge: () => null,
    scheme: () => null,
    parameter: () => null,
    curl: ({ name }) => `-H 'Sec-WebSocket-Protocol: ${name}, made-up-1'`,
    hidden: ({ name }) => ['subprotocols', name],
  },
}

/** What is said of the kind of a source, which is asked with that source. */
export function kindOfSource({ kind }: CredentialSource): SourceKind<CredentialSource> {
  return KINDS[kind] as SourceKind<CredentialSource>
}

function apiKey(place: 'header' | 'cookie' | 'query', name: string): Scheme {
  return [`${place}.${wordOf(name)}`, { type: 'apiKey', in: place, name }]
}

/** The name of a component of OpenAPI has these characters only. */
function wordOf(name: string): string {
  return name.replace(/[^\w.-]/g, '_')
}
