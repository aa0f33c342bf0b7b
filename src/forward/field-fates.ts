import { HOP_BY_HOP, isFact, NEVER_IN_TRAILERS, OVERRIDES } from '../inputs/header-names.ts'
import { type CredentialPlaces, isAlwaysRead, type TrustedFact } from '../inputs/inputs.ts'
import type { FactEncoding } from '../inputs/trusted-text.ts'
import { foldedName } from '../lib/field-names.ts'
import { remembered } from '../lib/memo.ts'
import { foldedParameter } from '../lib/parameter-names.ts'
import { fieldName } from './client/header-name.ts'
import type { IdentityFact } from './contract.ts'

/** Decides what happens to each field of a client, once for each spelling of its name. */

/** What is the same for all requests. */
export interface HeaderRules {
  /** Fixed fields, raw. */
  readonly fixed: readonly string[]
  /** Names in lower case of fixed and removed fields, which the gateway does not set itself. */
  readonly notOurs: ReadonlySet<string>
  /** Whether the gateway adds itself to Via. */
  readonly via: boolean
  /** Fields with facts about the caller. */
  readonly identity: readonly (readonly [name: string, fact: IdentityFact])[]
  /** The field that says how the request stands to the quota; `null` for none. */
  readonly quotaField: string | null
  /** The fate of a client's field, by its name as written. */
  readonly fateOf: (name: string) => Fate
  readonly trusted: (address: string) => boolean
  /** The fact in a field with the fate `named`, by its name in lower case. */
  readonly named: ReadonlyMap<string, TrustedFact>
  /** How the fields with the fate `named` are encoded. */
  readonly encoding: FactEncoding
  readonly hidden: Hidden
}

/** Where a forwarded field may contain a credential. */
export interface Hidden {
  /** Whether the value of a field that can hold credentials is forwarded, because it is no credential of the gateway. */
  readonly isKept: (lower: string, value: string) => boolean
  /** Names of cookies, folded by `foldedParameter`, as those of `parameters` are. */
  readonly cookies: readonly string[]
  readonly parameters: readonly string[]
  readonly subprotocols: ReadonlySet<string>
}

/**
 * What happens to a client's field. `fact`: forwarded only from a trusted peer. `named`: forwarded only from a trusted peer, and only if it
 * names the judged caller. `login`: forwarded, and may log its connection in. `destination`: forwarded with the upstream's name. `claim`:
 * Host, or a field whose value the gateway takes over from a trusted peer. `tracestate`: forwarded unless the trace begins here. `odd`:
 * forwarded unless the request has the field with dashes too. `credential`: dropped, unless it belongs to the upstream. A `cookie`, `url` or
 * `subprotocol` loses only the part that is a credential.
 */
export type Fate = Plain | Holder
type Plain =
  | 'passes'
  | 'odd'
  | 'dropped'
  | 'length'
  | 'coding'
  | 'te'
  | 'hops'
  | 'fact'
  | 'named'
  | 'claim'
  | 'login'
  | 'destination'
  | 'subprotocol'
  | 'tracestate'
export type Holder = 'credential' | 'cookie' | 'url'

/** @throws TypeError for a fixed field that no head can contain */
export function headerRules(options: {
  readonly headers: Readonly<Record<string, string>>
  readonly identity?: ReadonlyMap<string, IdentityFact> | undefined
  readonly quotaField?: string | null | undefined
  readonly removeHeaders?: readonly string[] | undefined
  readonly passAuthorization: boolean
  readonly oddNames?: boolean | undefined
  readonly via?: boolean | undefined
  /** Whether the gateway sends its own traceparent. */
  readonly traced?: boolean | undefined
  readonly credentials?: CredentialPlaces | undefined
  readonly trustedProxies?: ((address: string) => boolean) | undefined
}): HeaderRules {
  const { removeHeaders = [], quotaField = null } = options
  const identity = [...(options.identity ?? [])]
  const fixed = Object.entries(options.headers)
  const ofRequests = [...identity.map(([name]) => name), ...(quotaField === null ? [] : [quotaField])]
  for (const name of ofRequests) fieldName(name)
  for (const [name, value] of fixed) {
    fieldName(name)
    if (!VALUE.test(value)) throw new TypeError(`the value of ${name} has a character that no header may hold`)
  }
  const notOurs = new Set([...fixed.map(([name]) => name), ...removeHeaders].map((name) => name.toLowerCase()))
  const replaced = [...notOurs, ...ofRequests].map(foldedName)
  const dropped = new Set([...HOP_BY_HOP, ...OVERRIDES, ...replaced, 'expect', 'x-request-id'])
  if (options.traced === true) dropped.add('traceparent')
  const oddNames = options.oddNames === true
  const { trusted = [], encoding = 'none', ...places } = options.credentials ?? AUTHORIZATION
  const hidden = options.passAuthorization ? { ...NOTHING, fields: places.fields } : places
  const special = specialFates(hidden, trusted, options.traced === true)
  return {
    fixed: fixed.flat(),
    notOurs,
    via: options.via === true,
    identity,
    quotaField,
    fateOf: remembered((name) => fate(name.toLowerCase(), { dropped, special, oddNames })),
    trusted: remembered(options.trustedProxies ?? (() => false)),
    named: new Map(trusted),
    encoding,
    hidden: options.passAuthorization ? { ...hiddenOf(hidden), isKept: () => true } : hiddenOf(hidden),
  }
}

const NOTHING = { fields: [], kept: null, cookies: [], parameters: [], subprotocols: [] }
const AUTHORIZATION: CredentialPlaces = { ...NOTHING, fields: ['authorization'], trusted: [], encoding: 'none' }

/** Fields with a special fate because they may contain credentials or name callers. */
function specialFates(
  { fields, parameters, subprotocols }: Omit<CredentialPlaces, 'trusted' | 'encoding'>,
  trusted: CredentialPlaces['trusted'],
  traced: boolean,
): ReadonlyMap<string, Fate> {
  const fates = new Map<string, Fate>(trusted.map(([lower]) => [lower, 'named']))
  if (traced) fates.set('tracestate', 'tracestate')
  for (const lower of parameters.length > 0 ? ['referer', 'x-forwarded-uri'] : []) fates.set(lower, 'url')
  if (subprotocols.length > 0) fates.set('sec-websocket-protocol', 'subprotocol')
  for (const lower of fields) fates.set(lower, 'credential')
  return fates
}

function hiddenOf({ kept, cookies, parameters, subprotocols }: Omit<CredentialPlaces, 'trusted' | 'encoding'>): Hidden {
  const scheme = kept === null || kept.scheme === null ? '' : `${kept.scheme.toLowerCase()} `
  return {
    isKept: (lower, value) => lower === kept?.field && value.toLowerCase().startsWith(scheme),
    cookies: cookies.map(foldedParameter),
    parameters: parameters.map(foldedParameter),
    subprotocols: new Set(subprotocols),
  }
}

const VALUE = /^[\t -~\x80-\xff]*$/

/** A name with one of these characters, for which an upstream may read a dash. */
const ODD_NAME = /[^0-9a-z-]/

interface Fates {
  readonly dropped: ReadonlySet<string>
  readonly special: ReadonlyMap<string, Fate>
  readonly oddNames: boolean
}

function fate(lower: string, fates: Fates): Fate {
  const { dropped, special, oddNames } = fates
  if (ODD_NAME.test(lower)) return oddNames && isOnlyData(foldedName(lower), fates) ? 'odd' : 'dropped'
  const own = dropped.has(lower) ? undefined : special.get(lower)
  if (own !== undefined) return own
  if (lower === 'content-length') return 'length'
  if (lower === 'transfer-encoding') return 'coding'
  if (lower === 'te') return 'te'
  if (lower === 'max-forwards' && !dropped.has(lower)) return 'hops'
  if (lower === 'authorization' && !dropped.has(lower)) return 'login'
  if (lower === 'destination' && !dropped.has(lower)) return 'destination'
  if (lower === 'cookie' && !dropped.has(lower)) return 'cookie'
  if (lower === 'host' || CLAIMS.has(lower)) return 'claim'
  if (!passes(lower, dropped)) return 'dropped'
  return isFact(lower) ? 'fact' : 'passes'
}

/** Whether a field would, with dashes in its name, still be only data: nothing that the gateway reads, sets or removes. */
function isOnlyData(dashed: string, fates: Fates): boolean {
  const isRead = isAlwaysRead(dashed) || NEVER_IN_TRAILERS.has(dashed) || dashed.startsWith('sec-websocket-')
  return !isRead && fate(dashed, fates) === 'passes'
}

/** Fields of a trusted peer that the gateway writes anew. */
const CLAIMS: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
])

/** CGI reads an underscore as a dash, so `X_Tollgate_User` would be read as the gateway's field. */
export function passes(lower: string, dropped: ReadonlySet<string>): boolean {
  return !dropped.has(lower) && !lower.startsWith('proxy-') && !lower.startsWith('x-tollgate-') && !lower.includes('_')
}
