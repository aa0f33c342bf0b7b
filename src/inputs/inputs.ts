import { foldedName } from '../lib/field-names.ts'
import { type CredentialSource, type HiddenIn, kindOfSource } from './credential-sources.ts'
import { isFact } from './header-names.ts'
import type { FactEncoding } from './trusted-text.ts'

/**
 * The fields, cookies and parameters by which a configuration decides who asks, and what a request costs. The upstream gets exactly
 * the values by which a request was judged, or the request is refused. Otherwise its sender could be charged for one thing and be
 * served another.
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

/** The inputs that a configuration names, or the readable part of one. Default of each: nothing. */
export interface Configured {
  readonly from?: readonly CredentialSource[] | undefined
  readonly unverifiedKeys?: CredentialSource | null | undefined
  readonly trusted?:
    | (Readonly<Record<TrustedFact, string | null>> & { readonly encoding: FactEncoding })
    | null
    | undefined
  /** The fields by which repetitions are known, one for each route that knows them. */
  readonly repetitions?: readonly string[] | undefined
  /** The fields by which requests are priced. */
  readonly prices?: readonly string[] | undefined
  /** Names of fields that the gateway sets for the upstream in place of the client's. */
  readonly headers?: Iterable<string> | undefined
  readonly identity?: Iterable<string> | undefined
  readonly quotaField?: string | null | undefined
  /** Names of fields that the upstream does not get. */
  readonly removeHeaders?: Iterable<string> | undefined
}

/** A fact about the caller that a trusted proxy may state. */
export type TrustedFact = 'user' | 'organisation' | 'plan'

/** A field of requests that a key of the configuration is about. */
export interface FieldInput {
  /** The name as `foldedName` makes it. */
  readonly name: string
  /** The key, as in `upstream.headers`. */
  readonly key: string
  /** `read`: its value decides something. `set` and `removed`: another value, or none, takes its place. */
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

/** By entry of `edge.lenient`, the characters of names that it allows. With letters, digits and `-` they are all that RFC 9110 allows. */
const ODD_CHARACTERS = { underscore_names: /_/, punctuation_names: /[!#$%&'*+.^`|~]/ } as const
export type NameLeniency = keyof typeof ODD_CHARACTERS
const NAME_LENIENCIES = Object.keys(ODD_CHARACTERS) as readonly NameLeniency[]

/** @param lenient as in `edge.lenient` @returns the entries that are about names */
export function nameLeniencies(lenient: readonly string[]): NameLeniency[] {
  return NAME_LENIENCIES.filter((name) => lenient.includes(name))
}

/** The entries of `edge.lenient` that fields of such names need. */
export function neededFor(names: readonly string[]): NameLeniency[] {
  return NAME_LENIENCIES.filter((leniency) => names.some((name) => ODD_CHARACTERS[leniency].test(name)))
}

/** The names that a client's field may have, by one configuration. */
export interface NameRules {
  /** The kinds of odd names that may pass. */
  readonly lenient: readonly NameLeniency[]
  /** Fields that decide something, by `foldedName`. Each has its one spelling with dashes. */
  readonly read: ReadonlySet<string>
  /** The same fields, and those that the gateway sets for the upstream. */
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

/** The longest name that a configuration may have. */
const LONGEST_NAME = 256

/** Whether a field of this name, written with dashes, would decide something. @param name in any case */
export function isRead(name: string, { read }: NameRules): boolean {
  return name.length <= LONGEST_NAME && read.has(foldedName(name))
}

/** Fields that the gateway reads, whatever is configured. */
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

/** @param folded as `foldedName` makes it */
export function isAlwaysRead(folded: string): boolean {
  return ALWAYS_READ.has(folded)
}

/**
 * Whether `Connection` may name a field. Fields named there are removed before forwarding. A client could so remove a field that
 * tells the upstream who asks, or by which the request was judged.
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

/** Places of a client's fields that the gateway reads as credentials, so that the upstream does not get them. */
export interface CredentialPlaces {
  /** Fields, in lower case. */
  readonly fields: readonly string[]
  /** A field that passes all the same if its value has the scheme: only the upstream can check such keys. In lower case. */
  readonly kept: { readonly field: string; readonly scheme: string | null } | null
  readonly cookies: readonly string[]
  /** Parameters of a query, and of the query of a URL in a field. */
  readonly parameters: readonly string[]
  /** Names in `Sec-WebSocket-Protocol` that a credential follows. */
  readonly subprotocols: readonly string[]
  /** Fields in which a trusted peer states this fact of the caller, in lower case. From anybody else they are dropped. */
  readonly trusted: readonly (readonly [field: string, fact: TrustedFact])[]
  /** The encoding of these fields. */
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
