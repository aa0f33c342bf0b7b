import { TENANT } from '../../lib/tenant-placeholder.ts'
import type { ParsedIntrospection, ParsedIssuer, PartialConfig } from '../partial.ts'
import { membersIn, nested, placeholderIn } from '../placeholder.ts'
import { type Finding, type Path, quote } from '../problems.ts'

/** RFC 7518 section 3.2: a key is at least as long as the hash. */
const SECRET_BYTES = new Map<string, number>([
  ['HS256', 32],
  ['HS384', 48],
  ['HS512', 64],
])

type Issuer = Partial<ParsedIssuer>

/** Checks issuers, and whether anybody can get in at all. */
export function checkAuth(parsed: PartialConfig): Finding[] {
  const { jwt, introspection } = parsed.auth
  const ofEach = jwt.flatMap((issuer, i) => {
    const path = ['auth', 'jwt', i]
    return [
      ...checkKeys(issuer, path),
      ...checkAlgorithms(issuer, path),
      ...checkSecrets(issuer, path),
      ...checkNames(issuer, path),
      ...checkTenants(issuer, path),
    ]
  })
  return [
    ...checkEntrance(parsed),
    ...checkBasic(parsed),
    ...ofEach,
    ...checkTwins(jwt),
    ...checkIntrospection(introspection),
    ...checkCertificates(parsed),
  ]
}

function checkEntrance({ auth, routes, unmatched }: PartialConfig): Finding[] {
  const isNeeded =
    (unmatched !== undefined && unmatched.kind !== 'refuse') || routes.some((rule) => rule.public === false)
  const { from, client_certificate, unverified_keys, trusted, anonymous, shadow } = auth
  const isRead = from === undefined || from.length > 0
  const isJudged = auth.jwt.length > 0 || auth.introspection.length > 0 || auth.gateway_tokens !== false
  const others = [client_certificate, unverified_keys, trusted, anonymous]
  const takesOthers = others.some((key) => key !== undefined) || shadow !== false
  if (!isNeeded || (isRead && isJudged) || takesOthers || routes.some((rule) => rule.anonymous === true)) return []
  if (!isRead) return [{ path: ['auth', 'from'], severity: 'warning', message: NOWHERE }]
  const message =
    'no credential is accepted, so only public rules are served: add auth.jwt, or set gateway_tokens: true'
  return [{ path: ['auth'], severity: 'warning', message }]
}

/** Clients encode a name and a password for `Basic` in base64, which looks like none of our credentials. */
function checkBasic({ auth: { from = [] } }: PartialConfig): Finding[] {
  return from.flatMap((source, i): Finding[] => {
    if (source.kind !== 'header' || source.scheme?.toLowerCase() !== 'basic') return []
    return [{ path: ['auth', 'from', i], severity: 'warning', message: BASIC }]
  })
}

const BASIC =
  'is never met by "curl -u KEY:" or by a browser, which send a name and a password there, in base64: write another scheme or field, like { header: X-API-Key }'

const NOWHERE = 'names no place, so no credential is read and only public rules are served: add one, like bearer'

function checkKeys(issuer: Issuer, path: Path): Finding[] {
  if (issuer.previous_secret !== undefined && issuer.secret === undefined) {
    return [
      { path: [...path, 'previous_secret'], message: 'needs a secret that takes its place: add secret, or remove it' },
    ]
  }
  if (!('jwks' in issuer && 'secret' in issuer)) return []
  if (issuer.jwks === undefined && issuer.secret === undefined) {
    return [{ path, message: 'has no keys: add jwks (https://HOST/PATH or file:PATH) or secret' }]
  }
  const hasBoth = issuer.jwks !== undefined && issuer.secret !== undefined
  return hasBoth ? [{ path, message: 'has both jwks and secret: remove one, or make two issuers of it' }] : []
}

function checkAlgorithms({ jwks, secret, algorithms = [] }: Issuer, path: Path): Finding[] {
  const problem = (message: string) => ({ path: [...path, 'algorithms'], message })
  const findings: Finding[] = []
  const twice = algorithms.find((algorithm, i) => algorithms.indexOf(algorithm) !== i)
  if (twice !== undefined) findings.push(problem(`names ${twice} twice: remove one`))
  const shared = algorithms.filter((algorithm) => SECRET_BYTES.has(algorithm))
  if (jwks !== undefined && secret === undefined && shared.length > 0) {
    findings.push(problem(`${shared[0]} needs a shared secret, and public keys must never be one: remove it`))
  }
  if (jwks === undefined && secret !== undefined && shared.length < algorithms.length) {
    findings.push(problem('a secret goes with HS256, HS384 and HS512 only: remove the others, or use jwks'))
  }
  return findings
}

function checkSecrets({ secret, previous_secret, algorithms = [] }: Issuer, path: Path): Finding[] {
  return [
    ...checkSecret(secret, algorithms, [...path, 'secret']),
    ...checkSecret(previous_secret, algorithms, [...path, 'previous_secret']),
  ]
}

function checkSecret(secret: string | undefined, algorithms: readonly string[], path: Path): Finding[] {
  if (secret === undefined) return []
  const [algorithm, need = 0] = [...SECRET_BYTES].findLast(([name]) => algorithms.some((a) => a === name)) ?? []
  const has = Buffer.byteLength(secret)
  if (has >= need) return []
  const message = `has ${has} bytes, and ${algorithm} needs at least ${need}: make one with "openssl rand -base64 ${need}"`
  return [{ path, message }]
}

/** Warns of values that are compared letter by letter but were probably written carelessly. */
function checkNames(parsed: Issuer, path: Path): Finding[] {
  const { tenants, audience = [], audience_claim = 'aud', jwks } = parsed
  const issuer = (tenants === undefined ? parsed.issuer : parsed.issuer?.replace(TENANT, 'tenant')) ?? ''
  const warning = (key: string, message: string): Finding => ({ path: [...path, key], message, severity: 'warning' })
  const findings: Finding[] = []
  for (const [key, text] of [['issuer', issuer] as const, ...audience.map((each) => ['audience', each] as const)]) {
    const placeholder = placeholderIn(text)
    if (placeholder === null) continue
    const claim = key === 'issuer' ? 'iss' : audience_claim
    const cure = placeholder === TENANT && key === 'issuer' ? ', or add tenants: any, or a list of them' : ''
    const message = `${quote(placeholder)} is compared letter by letter with the claim ${claim} of a token: write what the tokens have there${cure}`
    findings.push(warning(key, message))
  }
  const placeholder = jwks?.kind === 'url' ? placeholderIn(jwks.url.replace(/%7B/g, '{').replace(/%7D/g, '}')) : null
  if (placeholder !== null) {
    findings.push(warning('jwks', `${quote(placeholder)} is asked for as it stands: write the address of the keys`))
  }
  const other = jwks?.kind === 'url' ? noKeySetAt(jwks.url) : null
  if (other !== null) findings.push(warning('jwks', other))
  return [...findings, ...checkPaths(parsed, path)]
}

/** The problem of a well-known address that is often taken for the address of the keys; `null` for any other address. */
function noKeySetAt(url: string): string | null {
  if (/\/\.well-known\/(?:openid-configuration|oauth-authorization-server)\b/.test(url)) {
    return 'is a discovery document, which has the address of the keys as jwks_uri: write that address'
  }
  const keys = url
    .replace(/\/robot\/v1\/metadata\/x509\//, '/service_accounts/v1/jwk/')
    .replace('/oauth2/v1/certs', '/oauth2/v3/certs')
  return keys === url || !keys.startsWith('https://www.googleapis.com/')
    ? null
    : `has certificates, not a JSON Web Key Set: write ${keys}`
}

/** Names under which Microsoft signs in users of several tenants. No token contains them. */
const OF_NO_TENANT =
  /^(https:\/\/login\.(?:microsoftonline|partner\.microsoftonline)\.[a-z]+\/)(?:common|organizations|consumers)\//

function checkTenants({ issuer, tenants }: Issuer, path: Path): Finding[] {
  if (issuer === undefined) return []
  if (tenants !== undefined && issuer.split(TENANT).length !== 2) {
    const message = `needs ${TENANT} in issuer, once, where the claim iss of a token has its tenant: write it there, or remove tenants`
    return [{ path: [...path, 'tenants'], message }]
  }
  if (!OF_NO_TENANT.test(issuer)) return []
  const template = issuer.replace(OF_NO_TENANT, `$1${TENANT}/`)
  const message = `is the name of no tenant, and each token has that of its own: write ${template}, and add tenants: any, or a list of them`
  return [{ path: [...path, 'issuer'], severity: 'warning', message }]
}

const CLAIM_KEYS = ['audience_claim', 'user_claim', 'plan_claim', 'organisation_claim', 'period_day_claim'] as const

/** Finds paths of claims in the form of JSONPath or JSON Pointer. */
function checkPaths(claims: Partial<Record<(typeof CLAIM_KEYS)[number], string | undefined>>, path: Path): Finding[] {
  return CLAIM_KEYS.flatMap((key): Finding[] => {
    const written = claims[key]
    const names = written === undefined || !/^[$/]/.test(written) ? null : membersIn(written)
    if (written === undefined || names === null) return []
    const message = `${quote(written)} is the name of one claim, so a token with ${nested(names)} has none: write ${quote(names.join('.'))}, unless the tokens have a claim of this name`
    return [{ path: [...path, key], severity: 'warning', message }]
  })
}

function checkCertificates({ hasTls, auth: { client_certificate } }: PartialConfig): Finding[] {
  if (client_certificate === undefined) return []
  const path = ['auth', 'client_certificate']
  if (!hasTls) {
    const message =
      'needs tls, without which no client can show a certificate (what a proxy reports of one is not read): add tls: { cert, key }'
    return [{ path, message }]
  }
  if (client_certificate.crl !== null || client_certificate.maxAgeMs !== null) return []
  const message =
    'has neither crl nor max_age, so a certificate whose key was stolen is good for as long as it says: add crl, or max_age where certificates are renewed often'
  return [{ path, severity: 'warning', message }]
}

/** A provider may know credentials that are meant for other services, and learns every credential it is asked about. */
function checkIntrospection(all: readonly Partial<ParsedIntrospection>[]): Finding[] {
  const findings = all.flatMap((each, i): Finding[] => {
    const path = ['auth', 'introspection', i]
    if (!('audience' in each) || each.audience !== undefined) return checkPaths(each, path)
    const message =
      'has no audience, so "Authorization: Bearer TOKEN" with a token that the provider issued for another service, or to be refreshed, is accepted: add audience, unless it says none'
    return [{ path, severity: 'warning', message }, ...checkPaths(each, path)]
  })
  if (all.length < 2) return findings
  const message =
    'is shown the credentials of all entries below it, since it is asked first: let it stand alone, unless these providers trust each other'
  return [...findings, { path: ['auth', 'introspection', 0], severity: 'warning', message }]
}

/** Issuer and audience of a token must decide which keys verify it. */
function checkTwins(issuers: readonly Issuer[]): Finding[] {
  const first = new Map<string, number>()
  const findings: Finding[] = []
  for (const [i, { issuer, audience = [] }] of issuers.entries()) {
    if (issuer === undefined) continue
    for (const each of audience) {
      const name = JSON.stringify([issuer, each])
      const rival = first.get(name)
      if (rival === undefined) first.set(name, i)
      else {
        const message = `has the issuer and an audience of auth.jwt[${rival}]: join the two, or change the audience`
        findings.push({ path: ['auth', 'jwt', i], message })
        break
      }
    }
  }
  return findings
}
