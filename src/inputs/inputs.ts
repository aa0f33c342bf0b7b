import { foldedName } from '../lib/field-names.ts'
import { type CredentialSource, type HiddenIn, kindOfSource } from './credential-sources.ts'
import { isFact } from './header-names.ts'
import type { FactEncoding } from './trusted-text.ts'

/**
 * The fields, cookies and parameters by which a configuration decides who asks, and what a request costs. What a request was judged by
 * is what the upstream gets, or the request is refused: else its sender could be charged for one thing and be served another.
 *
 * | What reads it | The upstream gets | Named by `Connection` | Another spelling of its name |
 * |---|---|---|---|
 * | `auth.from` | nothing of it | 400 | 400; nowhere forwarded |
 * | `auth.unverified_keys` | the very key | 400 | 400 |
 * | `auth.trusted` | what it was judged by, of a trusted proxy only | 400 | 400 |
 * | `routes[].idempotency` | the very key | 400 | 400 |
 * | `routes[].cost` | the very field | 400 | 400 |
 * | the gateway, whatever is configured | what was judged, or what a trusted proxy says | 400 | dropped |
 * | nothing: `upstream.headers`, `identity` and `quota_field` set it | what the gateway sets | 400 | dropped |
 */

/** What a configuration, or the part of one that can be read, says of inputs. Default of each: nothing. */
export interface Configured {
  readonly from?: readonly CredentialSource[] | undefined
  readonly unverifiedKeys?: CredentialSource | null | undefined
  readonly trusted?:
    | (Readonly<Record<TrustedFact, string | null>> & { readonly encoding: FactEncoding })
    | null
    | undefined
  /** The fields by which repetitions are known, one for each route that has one. */
  readonly repetitions?: readonly string[] | undefined
  /** The fields by which requests are priced. */
  readonly prices?: readonly string[] | undefined
  /** Names of fields that the upstream is sent instead of the client's. */
  readonly headers?: Iterable<string> | undefined
  readonly identity?: Iterable<string> | undefined
  readonly quotaField?: string | null | undefined
  /** Names of fields that the upstream does not get. */
  readonly removeHeaders?: Iterable<string> | undefined
}

/** What a trusted proxy says of the caller. */
export type TrustedFact = 'user' | 'organisation' | 'plan'

/** A field of requests that a key of the configuration is about. */
export interface FieldInput {
  /** As `foldedName` has it. */
  readonly name: string
  /** The key, as in `upstream.headers`. */
  readonly key: string
  /** Whether its value decides something, or whether another value, or none, takes its place. */
  readonly use: 'read' | 'set' | 'removed'
}

export function fieldInputs(of: Configured): FieldInput[] {
  const input = (use: FieldInput['use'], key: string) => (name: string) => ({ name: foldedName(name), key, use })
  const { user = null, organisation = null, plan = null } = of.trusted ?? {}
  return [
    ...(of.from ?? []).map(fieldOf).map(input('read', 'auth.from')),
    ...[of.unverifiedKeys ?? []].flat().map(fieldOf).map(input('read', 'auth.unverified_keys')),
    ...[user, organisation, plan].filter((name) => name !== null).map(input('read', 'auth.trusted')),
    ...(of.repetitions ?? []).map(input('read', 'routes[].idempotency')),
    ...(of.prices ?? []).map(input('read', 'routes[].cost')),
    ...[...(of.headers ?? [])].map(input('set', 'upstream.headers')),
    ...[...(of.identity ?? [])].map(input('set', 'upstream.identity')),
    ...[of.quotaField ?? []].flat().map(input('set', 'upstream.quota_field')),
    ...[...(of.removeHeaders ?? [])].map(input('removed', 'upstream.remove_headers')),
  ]
}

function fieldOf(source: CredentialSource): string {
  return kindOfSource(source).field(source)
}

/** What a name may hold beside letters, digits and `-`, by what `edge.lenient` calls it. Together these are all tokens of RFC 9110. */
const ODD_CHARACTERS = { underscore_names: /_/, punctuation_names: /[!#$%&'*+.^`|~]/ } as const
export type NameLeniency = keyof typeof ODD_CHARACTERS
const NAME_LENIENCIES = Object.keys(ODD_CHARACTERS) as readonly NameLeniency[]

/** @param lenient as in `edge.lenient` @returns those that are about names */
export function nameLeniencies(lenient: readonly string[]): NameLeniency[] {
  return NAME_LENIENCIES.filter((name) => lenient.includes(name))
}

/** What has to be let pass for fields of such names. */
export function neededFor(names: readonly string[]): NameLeniency[] {
  return NAME_LENIENCIES.filter((leniency) => names.some((name) => ODD_CHARACTERS[leniency].test(name)))
}

/** What the name of a client's field may be, by one configuration. */
export interface NameRules {
  /** What is let pass of them. */
  readonly lenient: readonly NameLeniency[]
  /** Fields that decide something: by `foldedName`. Each has the one spelling with dashes. */
  readonly read: ReadonlySet<string>
  /** The same, with those that the upstream is sent instead of the client's. */
  readonly known: ReadonlySet<string>
}

export function nameRules(of: Configured, lenient: readonly NameLeniency[]): NameRules {
  const inputs = fieldInputs(of)
  const read = inputs.filter(({ use }) => use === 'read')
  return {
    lenient,
    read: new Set(read.map(({ name }) => name)),
    known: new Set(inputs.map(({ name }) => name)),
  }
}

/** Names that a configuration may have are no longer. */
const LONGEST_NAME = 256

/** Whether something is decided by a field of this name, were it written with dashes. @param name in any case */
export function isRead(name: string, { read }: NameRules): boolean {
  return name.length <= LONGEST_NAME && read.has(foldedName(name))
}

/** What the gateway reads, whatever is configured. */
const ALWAYS_READ: ReadonlySet<string> = new Set([
  'access-control-request-headers',
  'access-control-request-method',
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'max-forwards',
  'origin',
  'transfer-encoding',
  'x-request-id',
])

/** @param folded as `foldedName` has it */
export function isAlwaysRead(folded: string): boolean {
  return ALWAYS_READ.has(folded)
}

/**
 * Whether `Connection` may name a field. What it names is removed before forwarding, and a client could so remove what says to the
 * upstream who asks, or by what the request was judged.
 * @param name in any case
 */
export function mayBeNominated(name: string, { known }: NameRules): boolean {
  const folded = foldedName(name)
  return !(
    ALWAYS_READ.has(folded) ||
    known.has(folded) ||
    isFact(folded) ||
    folded.startsWith('x-tollgate-') ||
    folded.startsWith('sec-websocket-')
  )
}

/** What of a client's fields the gateway reads as a credential, so that the upstream does not get it. */
export interface CredentialPlaces {
  /** Fields, in lower case. */
  readonly fields: readonly string[]
  /** Such a field that is passed on all the same, if its value has the scheme: keys that only the upstream can check. In lower case. */
  readonly kept: { readonly field: string; readonly scheme: string | null } | null
  readonly cookies: readonly string[]
  /** Parameters of a query, also of one in a field that holds a URL. */
  readonly parameters: readonly string[]
  /** Names behind which `Sec-WebSocket-Protocol` has a credential. */
  readonly subprotocols: readonly string[]
  /** Fields in which a trusted peer says this of the caller, in lower case: of anybody else they are dropped. */
  readonly trusted: readonly (readonly [field: string, fact: TrustedFact])[]
  /** Of these fields. */
  readonly encoding: FactEncoding
}

export function credentialPlaces({ from = [], unverifiedKeys, trusted }: Configured): CredentialPlaces {
  const places = from.map((source) => kindOfSource(source).hidden(source))
  const hidden = (list: HiddenIn) => places.flatMap(([place, name]) => (place === list ? name : []))
  const fields = hidden('fields')
  const key = unverifiedKeys?.kind === 'header' ? unverifiedKeys : null
  const kept = key === null ? null : { field: key.name.toLowerCase(), scheme: key.scheme }
  const facts = ['user', 'organisation', 'plan'] as const
  return {
    fields: kept === null ? fields : [...fields, kept.field],
    kept,
    cookies: hidden('cookies'),
    parameters: hidden('parameters'),
    subprotocols: hidden('subprotocols'),
    encoding: trusted?.encoding ?? 'none',
    trusted: facts.flatMap((fact) => {
      const name = trusted?.[fact]?.toLowerCase()
      return name === undefined ? [] : [[name, fact] as const]
    }),
  }
}
