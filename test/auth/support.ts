import {
  constants,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  type SignKeyObjectInput,
  sign as signBytes,
} from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Authenticator,
  type AuthOptions,
  type Caller,
  createAuthenticator,
  type IssuerOptions,
} from '../../src/auth/authenticator.ts'
import { hashAccessKey, isImported } from '../../src/control/access-key-record.ts'
import type { AccessKeyRecord } from '../../src/control/access-key-store.ts'
import type { Denial } from '../../src/errors.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'

/** Tokens are made by node:crypto and by hand, so that they can be wrong in any way. */

export const NOW = Date.UTC(2026, 7, 6, 12)
export const ISSUER = 'https://id.example.org'
export const AUDIENCE = 'score-gateway'

export interface TestKey {
  readonly jwk: Readonly<Record<string, unknown>> & { readonly kid?: string; readonly n?: string }
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export function rsaKey(kid?: string, modulusLength = 2048): TestKey {
  return describe(generateKeyPairSync('rsa', { modulusLength }), kid)
}

export function ecKey(kid?: string, namedCurve = 'P-256'): TestKey {
  return describe(generateKeyPairSync('ec', { namedCurve }), kid)
}

export function edKey(kid?: string): TestKey {
  return describe(generateKeyPairSync('ed25519'), kid)
}

function describe({ publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }, kid?: string): TestKey {
  return {
    jwk: { ...publicKey.export({ format: 'jwk' }), ...(kid === undefined ? {} : { kid }) },
    publicKey,
    privateKey,
  }
}

export function b64(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}

export interface JwtParts {
  /** An object, or the JSON text itself. */
  readonly header?: unknown
  readonly payload?: unknown
  readonly alg?: string
  /** Algorithm really used to sign; that of the header by default. */
  readonly signAs?: string
  readonly key: TestKey | string
}

/** Claims of a good token, with changes; `undefined` takes one away. */
export function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { iss: ISSUER, aud: AUDIENCE, sub: 'alice', exp: NOW / 1000 + 300, ...changes }
}

export function jwt({ key, alg = 'ES256', signAs = alg, ...parts }: JwtParts): string {
  const kid = typeof key === 'string' ? undefined : key.jwk.kid
  const header = parts.header ?? { alg, ...(kid === undefined ? {} : { kid }) }
  const input = `${b64(header)}.${b64(parts.payload ?? claims())}`
  return `${input}.${sign(input, signAs, key).toString('base64url')}`
}

export function sign(input: string, alg: string, key: TestKey | string): Buffer {
  const hash = `sha${alg.slice(-3)}`
  if (typeof key === 'string') return createHmac(hash, key).update(input).digest()
  const options: SignKeyObjectInput = { key: key.privateKey }
  if (alg.startsWith('ES')) options.dsaEncoding = 'ieee-p1363'
  if (alg.startsWith('PS'))
    Object.assign(options, { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: Number(alg.slice(-3)) / 8 })
  return signBytes(alg.startsWith('Ed') ? null : hash, Buffer.from(input), options)
}

export interface TestServer {
  readonly url: string
  /** How many requests came. */
  hits: number
  /** What it does from now on. */
  answer: RequestListener
  close(): Promise<void>
}

export async function serve(answer: RequestListener): Promise<TestServer> {
  const server = createServer((request, response) => {
    self.hits++
    self.answer(request, response)
  })
  await listening(server)
  const self: TestServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    hits: 0,
    answer,
    close: atEnd(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
  return self
}

export function serveJson(body: unknown, headers: Record<string, string> = {}): RequestListener {
  return (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function keySet(...keys: TestKey[]): { keys: TestKey['jwk'][] } {
  return { keys: keys.map(({ jwk }) => jwk) }
}

export interface Bench {
  readonly auth: Authenticator
  readonly seen: Observation[]
  /** The clock, in milliseconds since the epoch. */
  time: number
  /** Asks with `Bearer` and a credential. */
  ask(credential: string): Promise<Caller | Denial>
  /** The answer in one word: the user, or the code of the denial. */
  outcome(credential: string): Promise<string>
  failures(): string[]
  /** Keys of a fetched set that are not used. */
  refusedKeys(): string[]
}

export async function bench(
  issuers: Partial<IssuerOptions>[],
  options: Partial<AuthOptions> = {},
  before?: Bench,
): Promise<Bench> {
  const self: { time: number } = { time: NOW }
  const seen: Observation[] = []
  const all = {
    issuers: issuers.map(issuer),
    gatewayTokens: true,
    tokens: { find: () => null, isImported: () => false },
    cache: { max: 100, ttlMs: 10_000 },
    now: () => self.time,
    random: () => 0,
    observe: (observation: Observation) => void seen.push(observation),
    ...options,
  }
  const auth = await createAuthenticator(all, before?.auth)
  const ask = async (credential: string) => auth.authenticate(`Bearer ${credential}`)
  const outcome = async (credential: string) => word(await ask(credential))
  const failures = () => seen.flatMap((one) => (one.type === 'jwks_failed' ? [one.message] : []))
  const refusedKeys = () => seen.flatMap((one) => (one.type === 'jwks_keys_refused' ? [one.message] : []))
  return Object.assign(self, { auth, seen, ask, outcome, failures, refusedKeys })
}

export function word(answer: Caller | Denial): string {
  return 'user' in answer ? answer.user : answer.code
}

export function issuer(changes: Partial<IssuerOptions>): IssuerOptions {
  return {
    issuer: ISSUER,
    audiences: [AUDIENCE],
    keys: { kind: 'secret', secret: 'x'.repeat(64) },
    algorithms: ['ES256'],
    userClaim: 'sub',
    clockToleranceSeconds: 5,
    ...changes,
  }
}

/** Access keys as the process knows them, with a count of look-ups. */
export function accessKeyStore(...records: AccessKeyRecord[]) {
  const store = {
    asked: 0,
    records: new Map(records.map((record) => [record.hash, record])),
    find(token: string) {
      store.asked++
      return store.records.get(hashAccessKey(token)) ?? null
    },
    isImported(credential: string) {
      const record = store.records.get(hashAccessKey(credential))
      return record !== undefined && isImported(record)
    },
  }
  return store
}

/** A number of the form the faulty chips make: a power of 65537 modulo the product of the first 126 primes. */
export function rocaModulus(exponent: bigint, k: bigint): bigint {
  const primes: bigint[] = []
  for (let n = 2n; primes.length < 126; n++) if (primes.every((p) => n % p !== 0n)) primes.push(n)
  const product = primes.reduce((a, b) => a * b)
  let power = 1n
  for (let i = exponent, base = 65537n; i > 0n; i /= 2n, base = (base * base) % product)
    if (i % 2n === 1n) power = (power * base) % product
  return k * product + power
}
