/** A place where a credential may be. */
export type CredentialSource =
  | { readonly kind: 'bearer' }
  /** A field that holds the credential alone, or after a scheme as `Authorization` does. */
  | { readonly kind: 'header'; readonly name: string; readonly scheme: string | null }
  | { readonly kind: 'cookie'; readonly name: string }
  | { readonly kind: 'query'; readonly name: string }
  /** `Sec-WebSocket-Protocol: NAME, CREDENTIAL` of a handshake. */
  | { readonly kind: 'websocket_protocol'; readonly name: string }

type Kind = CredentialSource['kind']
type SourceOf<K extends Kind> = Extract<CredentialSource, { kind: K }>

/** A security scheme of OpenAPI with its name. Its description is added later. */
type Scheme = readonly [name: string, scheme: Readonly<Record<string, string>>]

/** All texts and names of one kind of source. `auth/credential-sources.ts` says how it is read. */
interface SourceKind<S> {
  /** The field of a request that holds the credential. */
  field(source: S): string
  /** The challenge in a 401. `null` for Bearer, whose challenge also says what is wrong with a credential. */
  challenge(source: S): string | null
  /** The scheme of OpenAPI; `null` if OpenAPI has none for it. */
  scheme(source: S): Scheme | null
  /** The place as a parameter of an API, as `header x-api-key`; `null` if a parameter could not be there. */
  parameter(source: S): string | null
  /** The arguments by which curl sends a made-up credential. */
  curl(source: S): string
  /** The name that is hidden from the upstream, and its list in `CredentialPlaces`. */
  hidden(source: S): readonly [HiddenIn, string]
}

/** The lists of `CredentialPlaces`. */
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
    // The Referer of a page names the query by which the page was asked for, with the credential.
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

/** The texts and names for the kind of a source. Its functions take that source. */
export function kindOfSource({ kind }: CredentialSource): SourceKind<CredentialSource> {
  return KINDS[kind] as SourceKind<CredentialSource>
}

function apiKey(place: 'header' | 'cookie' | 'query', name: string): Scheme {
  return [`${place}.${wordOf(name)}`, { type: 'apiKey', in: place, name }]
}

/** The name of a component of OpenAPI may have only these characters. */
function wordOf(name: string): string {
  return name.replace(/[^\w.-]/g, '_')
}
