import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AUDIENCE, jwtOf, userName } from '../requests.ts'
import { ISSUERS, type Running } from '../servers.ts'
import type { Plan } from './attacker.ts'
import type { Kind } from './others.ts'

/** The attacks, and the requests of the others meanwhile. */

/** A file that fits into no buffer. */
export const BIG = { file: 'big', bytes: 8_000_000 }

/** Ports of a server under attack. */
export interface Ports {
  readonly port: number
  /** The port of the admin listener; `null` if there is none. */
  readonly admin: number | null
}

export interface AttackRow {
  readonly name: string
  /** The attack; `null` for no attackers. */
  readonly attack: (Omit<Plan, 'port' | 'addresses'> & { readonly addresses: number }) | null
  /** The target. Default the port of the service. */
  readonly at?: 'admin'
  /** The requests of the others. Default `plain`. */
  readonly others?: 'plain' | 'tunnels' | 'probes' | 'tokens' | 'signatures'
  /** Whether nginx is attacked, too. Default no. */
  readonly nginx?: boolean
}

/** How long the provider of credentials takes for each question, in milliseconds. */
const PROVIDER_MS = 500
const WRONG_TOKEN = 'bad-{n}'

const head = (line: string, ...fields: string[]): string => [line, 'Host: a', ...fields, '', ''].join('\r\n')
const get = (path: string, ...fields: string[]): string => head(`GET ${path} HTTP/1.1`, ...fields)
const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

/** 8,100 bytes, a little less than `edge.max_url`. */
const ODD_PATH = `/${'%C3%A9'.repeat(1350)}`
const ODD_QUERY = `/priced?${'c%CC%80h%CC%810&'.repeat(476)}`
const HALF_A_HEAD = 'GET /none HTTP/1.1\r\nHost: a\r\nX-Half'
const NO_BODY = get('/files/none', 'Content-Length: 10')

const fromTwoAndTwenty = (name: string, attack: Omit<Plan, 'port' | 'addresses'>, more: Partial<AttackRow> = {}) =>
  [2, 20].map(
    (addresses): AttackRow => ({
      name: `${name}, from ${addresses}`,
      attack: { ...attack, addresses },
      ...more,
    }),
  )

export function attackRows(forged: string): readonly AttackRow[] {
  const dear = (name: string, text: string, repeatAfter = 1): AttackRow => ({
    name,
    attack: { connections: 990, addresses: 1, text, repeatAfter, reopens: true },
    nginx: true,
  })
  const held = (name: string, text: string, more: Partial<Omit<Plan, 'addresses'>> = {}): AttackRow => ({
    name,
    attack: { connections: 11_000, addresses: 11, text, ...more },
    nginx: true,
  })
  const credentials = (name: string, credential: string, addresses: number, others: 'tokens' | 'signatures') => ({
    name: `${name}, from ${addresses}`,
    attack: {
      connections: 128 * addresses,
      addresses,
      text: get('/read', `Authorization: Bearer ${credential}`),
      repeatAfter: 1,
      pace: 1100,
      reopens: true,
    },
    others,
  })
  return [
    { name: 'nobody', attack: null, nginx: true },
    dear('short requests, 990 connections', get('/none')),
    {
      name: 'short requests, 4,000 connections from 4,000',
      attack: { connections: 4000, addresses: 4000, text: get('/none'), repeatAfter: 1, reopens: true },
      nginx: true,
    },
    dear('8 KiB of path, 990 connections', get(ODD_PATH)),
    dear(
      '8 KiB of query, 990 connections',
      `${head(`POST ${ODD_QUERY} HTTP/1.1`, 'Content-Type: application/json', 'Content-Length: 2')}{}`,
    ),
    dear('32 pipelined requests, 990 connections', get('/none').repeat(32), 32),
    held('11,000 idle connections from 11', get('/none')),
    held('the same, opened anew when closed', get('/none'), { reopens: true }),
    held('11,000 halves of a head from 11', HALF_A_HEAD),
    ...fromTwoAndTwenty('1,500 bodies that do not come', { connections: 1500, text: NO_BODY }),
    ...fromTwoAndTwenty('600 large responses, not read', {
      connections: 600,
      text: get(`/files/${BIG.file}`),
      reads: false,
    }),
    ...fromTwoAndTwenty(
      '1,040 silent WebSockets',
      { connections: 1040, text: get('/socket/open', ...UPGRADE) },
      { others: 'tunnels' },
    ),
    {
      name: 'admin port, 205 idle connections from 1',
      attack: { connections: 205, addresses: 1, text: get('/livez') },
      at: 'admin',
      others: 'probes',
    },
    {
      name: 'admin port, 400 halves of a head from 10',
      attack: { connections: 400, addresses: 10, text: HALF_A_HEAD },
      at: 'admin',
      others: 'probes',
    },
    ...[1, 3].map((addresses) =>
      credentials(`wrong tokens, provider of ${PROVIDER_MS} ms`, WRONG_TOKEN, addresses, 'tokens'),
    ),
    ...[1, 3].map((addresses) => credentials('JWTs forged by ES512', forged, addresses, 'signatures')),
  ]
}

export const ROUTES = [
  { match: 'GET /files/:name', public: true },
  { match: 'GET /socket/open', public: true },
  { match: 'GET /socket', category: 'read', cost: 1 },
  { match: 'GET /read', category: 'read', cost: 1 },
  { match: 'POST /upload', category: 'write', cost: 1 },
  { match: 'POST /priced', category: 'write', cost: { body: 'chargeId', values: { 1: 1 } } },
]

/** An issuer whose tokens are expensive to check. */
export interface DearIssuer {
  readonly jwks: string
  /** A new valid JWT. */
  good(user: number): string
  /** The text of invalid JWTs, with `{n}` in their signatures. */
  readonly forged: string
}

const DEAR_ISSUER = 'https://dear.bench.local'
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** @param folder for its keys */
export function createDearIssuer(folder: string): DearIssuer {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' })
  const jwks = join(folder, 'jwks.json')
  writeFileSync(jwks, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'a', alg: 'ES512' }] }))
  let made = 0
  const textOf = (user: number): string => {
    const exp = Math.floor(Date.now() / 1000) + 3600
    const claims = { iss: DEAR_ISSUER, aud: AUDIENCE, sub: userName(user), exp, jti: `${++made}` }
    return `${part({ alg: 'ES512', kid: 'a' })}.${part(claims)}`
  }
  const signed = (text: string, key: KeyObject): string =>
    `${text}.${sign('sha512', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  return {
    jwks: `file:${jwks}`,
    good: (user) => signed(textOf(user), privateKey),
    // Both halves of a signature are below the order of the curve. Otherwise nothing would be calculated.
    forged: `${textOf(0)}.${'AB'.padEnd(88, 'q')}${'AB'.padEnd(76, 'q')}{n}qqqA`,
  }
}

/** The `auth` section for these rows. */
export function authOf({ jwks }: DearIssuer, provider: Running): object {
  const dear = { issuer: DEAR_ISSUER, audience: AUDIENCE, jwks, algorithms: ['ES512'] }
  const introspection = {
    url: `http://127.0.0.1:${provider.port}/introspect/${PROVIDER_MS}`,
    client_id: 'bench',
    client_secret: 'good for the loopback only',
  }
  return { jwt: [...ISSUERS, dear], introspection: [introspection] }
}

/** @returns the requests of the others, in turn */
export function kindsOf(row: AttackRow, { port, admin }: Ports, issuer: DearIssuer): readonly Kind[] {
  const bearer = (credential: string): string => `Authorization: Bearer ${credential}`
  const own = (user: number): string => bearer(jwtOf(userName(user)))
  const close = 'Connection: close'
  const body = 'x'.repeat(1000)
  const asked = (name: string, text: Kind['text'], more: Partial<Kind> = {}): Kind => ({
    ...{ name, port, kept: false, status: 200, text },
    ...more,
  })
  const upload = (user: number) => head('POST /upload HTTP/1.1', own(user), close, `Content-Length: ${body.length}`)
  const plain: Kind[] = [
    asked('new', (user) => get('/read', own(user), close)),
    asked('body', (user) => upload(user) + body),
    asked('kept', (user) => get('/read', own(user)), { kept: true }),
  ]
  let made = 0
  const fresh = (credentialOf: (user: number) => string): Kind =>
    asked('fresh credential', (user) => get('/read', bearer(credentialOf(user)), close))
  const probe = (path: string): Kind => asked(path, () => get(path, close), { port: admin ?? 0 })
  switch (row.others) {
    case 'tunnels':
      return [...plain, asked('WebSocket', (user) => get('/socket', own(user), ...UPGRADE), { status: 101 })]
    case 'probes':
      return ['/livez', '/readyz', '/metrics'].map(probe)
    case 'tokens':
      return [...plain, fresh((user) => `good-${user}-${++made}`)]
    case 'signatures':
      return [...plain, fresh(issuer.good)]
    default:
      return plain
  }
}
