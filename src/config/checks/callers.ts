import { kindOfSource } from '../../inputs/credential-sources.ts'
import { isFact } from '../../inputs/header-names.ts'
import { foldedName } from '../../lib/field-names.ts'
import type { PartialConfig } from '../partial.ts'
import { type Finding, type Path, quote } from '../problems.ts'
import { isCharged, metersOf } from './meters.ts'

/** Checks how callers are identified: places that exclude each other, and what strangers can do with them. */
export function checkCallers(parsed: PartialConfig): Finding[] {
  return [
    ...checkTwins(parsed.auth),
    ...checkKeys(parsed),
    ...checkKeysArrive(parsed),
    ...checkKeysOfClients(parsed.auth),
    ...checkUserClaim(parsed),
    ...checkTrusted(parsed),
    ...checkCookies(parsed),
    ...checkAnonymous(parsed.auth),
    ...checkShadow(parsed.auth),
  ]
}

type Auth = PartialConfig['auth']
type Source = NonNullable<Auth['from']>[number]

/** Finds two entries that read the same place. */
function checkTwins({ from = [], unverified_keys: keys }: Auth): Finding[] {
  const twins = from.flatMap((source, i): Finding[] => {
    const first = from.findIndex((other) => nameOf(other) === nameOf(source))
    return first < i ? [{ path: ['auth', 'from', i], message: `reads what auth.from[${first}] reads: remove one` }] : []
  })
  const rival = keys === undefined ? -1 : from.findIndex((source) => overlap(source, keys))
  if (rival < 0) return twins
  const message = `is where auth.from[${rival}] reads credentials, which are 401 if they are not good: remove one`
  return [...twins, { path: ['auth', 'unverified_keys'], message }]
}

function overlap(a: Source, b: Source): boolean {
  if (nameOf(a) === nameOf(b)) return true
  const [one, other] = [headerOf(a), headerOf(b)]
  return one !== null && one.name === other?.name && (one.scheme === null) !== (other.scheme === null)
}

function headerOf(source: Source): { readonly name: string; readonly scheme: string | null } | null {
  if (source.kind === 'bearer') return { name: 'authorization', scheme: 'bearer' }
  return source.kind === 'header' ? { name: source.name.toLowerCase(), scheme: source.scheme } : null
}

function nameOf(source: Source): string {
  if (source.kind === 'bearer') return 'header authorization bearer'
  if (source.kind !== 'header') return `${source.kind} ${source.name}`
  return `header ${source.name} ${source.scheme ?? ''}`.toLowerCase()
}

/** A caller who has used up the limits of one key can make up another. */
function checkKeys({ auth, quota }: PartialConfig): Finding[] {
  const { unverified_keys: keys } = auth
  const hasGlobal = quota.global?.enabled !== false && quota.baselines?.global.size !== 0
  if (keys === undefined || (hasGlobal && quota.reserve !== undefined)) return []
  const what = hasGlobal
    ? 'and takes from the global limits: keep a part of them for known users (quota.reserve)'
    : 'and there are no global limits: write some (quota.baselines.global), and leave quota.global switched on'
  const message = `anybody can make up keys, each of which is a user of its own: curl ${curlOf(keys)} has new personal limits, ${what}`
  return [warning(['auth', 'unverified_keys'], message)]
}

function curlOf(source: Source): string {
  return kindOfSource(source).curl(source)
}

/** The upstream must see the key of each client, because nobody else checks it. */
function checkKeysArrive({ auth: { unverified_keys: keys }, upstream }: PartialConfig): Finding[] {
  const { headers = new Map(), identity = new Map(), quota_field, remove_headers: removed = [] } = upstream
  const ofQuota = quota_field === undefined ? [] : [quota_field]
  const field = keys === undefined ? null : fieldOf(keys)
  if (keys === undefined || field === null) return []
  const taken: Path[] = [
    ...[...headers.keys()].map((name) => ['upstream', 'headers', name]),
    ...[...identity.keys()].map((name) => ['upstream', 'identity', name]),
    ...ofQuota.map(() => ['upstream', 'quota_field']),
    ...removed.map((_name, i) => ['upstream', 'remove_headers', i]),
  ]
  const names = [...headers.keys(), ...identity.keys(), ...ofQuota, ...removed]
  return taken
    .filter((_path, i) => foldedName(names[i] ?? '') === field)
    .map((path) => {
      const message = `takes away the keys of auth.unverified_keys, which only the upstream can check: curl ${curlOf(keys)} is forwarded like any other. Remove it here, or auth.unverified_keys`
      return warning(path, message)
    })
}

/** The upstream gets some fields only from trusted proxies. Keys in such a field would be charged but never checked. */
function checkKeysOfClients({ unverified_keys: keys }: Auth): Finding[] {
  if (keys?.kind !== 'header' || !isFact(keys.name.toLowerCase())) return []
  const message = `the upstream gets ${keys.name} of trusted proxies only, so anybody else is served by a key that nobody checks: curl ${curlOf(keys)} arrives without it. Take a header that clients send, or auth.trusted`
  return [{ path: ['auth', 'unverified_keys'], message }]
}

/** Anybody can write a JWT in another user's name, and use up his limits. */
function checkUserClaim({ auth: { unverified_keys: keys }, quota }: PartialConfig): Finding[] {
  if (keys?.userClaim === undefined || quota.shadow !== false) return []
  const message =
    'is a claim that nobody verifies, so its users may only be watched: set quota.shadow to true, or name the issuer in auth.jwt'
  return [{ path: ['auth', 'unverified_keys', 'user_claim'], message }]
}

/** The header that contains the credential, folded like `foldedName`; `null` if no header does. */
function fieldOf(source: Source): string | null {
  if (source.kind === 'header') return foldedName(source.name)
  return source.kind === 'cookie' ? 'cookie' : null
}

function checkTrusted({ auth: { trusted, from = [], unverified_keys: keys }, edge }: PartialConfig): Finding[] {
  if (trusted === undefined) return []
  const path = ['auth', 'trusted']
  const names = [trusted.user, trusted.organisation, trusted.plan].filter((name) => name !== null)
  const twice = names.find((name, i) => names.findIndex((other) => isSame(other, name)) < i)
  const readBy = (sources: readonly Source[]) =>
    names.find((name) => sources.some((source) => source.kind === 'header' && isSame(source.name, name)))
  const [read, key] = [readBy(from), readBy(keys === undefined ? [] : [keys])]
  return [
    ...(twice === undefined ? [] : [{ path, message: `names ${twice} twice: give each a field of its own` }]),
    ...(read === undefined ? [] : [{ path, message: `names ${read}, where auth.from reads a credential: remove one` }]),
    ...(key === undefined
      ? []
      : [{ path, message: `names ${key}, where auth.unverified_keys reads a key: remove one` }]),
    ...(edge.trusted_proxies?.length === 0
      ? [{ path, message: 'is true of trusted proxies only, and there is none: name yours in edge.trusted_proxies' }]
      : []),
  ]
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** The gateway checks the origin of a page only for requests that change something, so a page of any site can send a charged GET. */
function checkCookies({ auth: { from = [], unverified_keys: keys }, routes }: PartialConfig): Finding[] {
  const dear = routes.find(
    ({ public: isPublic, match, ...meters }) =>
      isPublic === false &&
      match !== undefined &&
      (match.methods === '*' || match.methods.includes('GET')) &&
      metersOf(meters).some(isCharged),
  )
  if (dear?.match === undefined) return []
  const path = dear.match.match.replace(/^\S+ +/, '').replaceAll(/:[^/]+|\*$/g, '1')
  const example = `<img src="${path}">`
  const places = [
    ...from.map((source, i) => [source, ['auth', 'from', i]] as const),
    ...(keys === undefined ? [] : [[keys, ['auth', 'unverified_keys']] as const]),
  ]
  return places.flatMap(([source, place]) => {
    if (source.kind !== 'cookie') return []
    const message = `a page of any site can spend the tokens of who is signed in, by ${example}: set the cookie ${quote(source.name)} with SameSite=Lax or Strict`
    return [warning(place, message)]
  })
}

/** A typical IPv6 prefix for one subscriber. */
const SUBSCRIBER = 64

function checkAnonymous({ anonymous }: Auth): Finding[] {
  if (anonymous === undefined || anonymous.ipv6 <= SUBSCRIBER) return []
  const message = `whoever has an IPv6 /${SUBSCRIBER}, which is everybody with one, is as many users as it has addresses, each with personal limits of its own: write ipv6: ${SUBSCRIBER} or less`
  return [warning(['auth', 'anonymous', 'ipv6'], message)]
}

function checkShadow({ shadow }: Auth): Finding[] {
  if (shadow !== true) return []
  const message =
    "lets everybody in: curl -H 'Authorization: Bearer nonsense' is forwarded on every charged rule. Set it to false once log and metrics show that nobody is missed"
  return [warning(['auth', 'shadow'], message)]
}

function warning(path: Path, message: string): Finding {
  return { path, message, severity: 'warning' }
}
