import type { KeyObject } from 'node:crypto'
import { messageOf } from '../errors.ts'
import { isObject } from '../lib/json.ts'
import { ALGORITHMS, type Algorithm } from './algorithms.ts'
import { importPublicKey } from './jose.ts'
import { type JsonObject, member } from './jwt-encoding.ts'
import { costOf } from './jwt-signature.ts'
import { rsaWeakness } from './weak-rsa.ts'

/** `keys`: at most `MAX_FITTING` keys to verify with. `unknown`: no such key. `ambiguous`: more fit, and none is named. */
export type KeyResponse =
  | { readonly is: 'keys'; readonly keys: readonly VerifyingKey[] }
  | { readonly is: 'unknown' }
  | { readonly is: 'ambiguous' }
  /** Nothing is known now. `retryAfter` is in whole seconds. */
  | { readonly is: 'unavailable'; readonly retryAfter: number }

/** Where the keys of an issuer come from. Never rejects. */
export interface KeySource {
  find(alg: string, kid: string | undefined): KeyResponse | Promise<KeyResponse>
  /** Finds keys that are not in `tried`, because an issuer may have a new key under an old kid, or without a kid. */
  findOther(alg: string, kid: string | undefined, tried: readonly VerifyingKey[]): KeyResponse | Promise<KeyResponse>
  /** Whether there is any key. Without keys no user of the issuer is accepted. */
  hasKeys(): boolean
  /** Whether a key set was read once, even if it was empty. */
  wasRead(): boolean
  /** Tries to get a key set if there is none, and stores what the store could not take before. */
  prepare(): Promise<void>
  close(): void
}

/** How many keys are tried for a token that names none. Each costs a signature check. */
const MAX_FITTING = 5

export interface VerifyingKey {
  /** Identifies the key by its content. */
  readonly id: string
  readonly key: KeyObject
  /** The cost of a check with this key, by `costOf`. */
  readonly cost: number
  /** The issuer that the set names for this key, which most sets do not. */
  readonly issuer: string | undefined
}

interface UsableKey extends VerifyingKey {
  /** Its position in the document. */
  readonly index: number
  readonly kid: string | undefined
}

/** The public keys of a JWK set with which to verify, by algorithm. */
export type KeySet = ReadonlyMap<string, readonly UsableKey[]>

/** A key set, and which of its keys were refused and why. Keys for other purposes are skipped silently. */
export interface ReadKeySet {
  readonly keys: KeySet
  /** How many different keys can be used. */
  readonly count: number
  readonly refused: readonly string[]
}

export function findKeys(
  set: KeySet,
  alg: string,
  kid: string | undefined,
  tried: readonly VerifyingKey[] = [],
): KeyResponse {
  const keys = (set.get(alg) ?? []).filter((candidate) => kid === undefined || candidate.kid === kid)
  if (keys.length > MAX_FITTING) return { is: 'ambiguous' }
  const others = keys.filter(({ id }) => !tried.some((one) => one.id === id))
  return others.length === 0 ? { is: 'unknown' } : { is: 'keys', keys: others }
}

/** Reads a JWK set (RFC 7517, section 5) from a parsed JSON value. @throws Error if it is no JWK set */
export async function readKeySet(json: unknown): Promise<ReadKeySet> {
  const jwks = isObject(json) ? member(json, 'keys') : undefined
  if (!Array.isArray(jwks) || !jwks.every(isObject)) throw new Error(whatElse(json))
  const keys = new Map<string, UsableKey[]>()
  const refused: string[] = []
  for (const [i, jwk] of jwks.entries()) {
    if (!isForSigning(jwk)) continue
    const fault = faultOf(jwk) ?? (await addKey(keys, jwk, i))
    if (fault !== null) refused.push(`key ${i + 1}: ${fault}`)
  }
  const twins = new Set<number>()
  for (const [alg, list] of keys) keys.set(alg, withoutTwins(list, twins))
  if (twins.size > 0) refused.push(`keys ${[...twins].map((i) => i + 1).join(', ')}: of the same kid`)
  return { keys, count: countKeys(keys), refused }
}

/** Recognises other documents of issuers that are often taken for the key set. */
function whatElse(json: unknown): string {
  const uri = isObject(json) ? member(json, 'jwks_uri') : undefined
  if (typeof uri === 'string') {
    return `a discovery document, not a JSON Web Key Set: name under jwks what it has as jwks_uri, ${JSON.stringify(uri.slice(0, 500))}`
  }
  const values = isObject(json) ? Object.values(json) : []
  const isCertificates = values.length > 0 && values.every((one) => `${one}`.startsWith('-----BEGIN CERTIFICATE'))
  if (!isCertificates) return 'not a JSON Web Key Set'
  return 'certificates, not a JSON Web Key Set: name under jwks where the issuer has the same keys as JWKs (Google: https://www.googleapis.com/oauth2/v3/certs or …/service_accounts/v1/jwk/ACCOUNT)'
}

function isForSigning(jwk: JsonObject): boolean {
  const use = member(jwk, 'use')
  const ops = member(jwk, 'key_ops')
  return (use === undefined || use === 'sig') && (ops === undefined || (Array.isArray(ops) && ops.includes('verify')))
}

function faultOf(jwk: JsonObject): string | null {
  const kty = member(jwk, 'kty')
  // A secret in a public document is no secret, and HS256 with public data as its key is a well-known attack.
  if (kty === 'oct') return 'a symmetric key'
  if (member(jwk, 'd') !== undefined) return 'a private key, which is no longer private'
  const kid = member(jwk, 'kid')
  if (kid !== undefined && typeof kid !== 'string') return 'kid is not a string'
  return kty === 'RSA' ? rsaWeakness(jwk) : null
}

/** Adds a key under each algorithm that it fits. Returns what is wrong with it, if anything. */
async function addKey(keys: Map<string, UsableKey[]>, jwk: JsonObject, index: number): Promise<string | null> {
  const kid = member(jwk, 'kid') as string | undefined
  try {
    for (const [alg, algorithm] of ALGORITHMS) {
      if (!fits(jwk, alg, algorithm)) continue
      const part = publicPart(jwk)
      const key = await importPublicKey(part, alg)
      const found = { index, kid, id: JSON.stringify(part), key, cost: costOf(key, alg), issuer: issuerIn(jwk) }
      keys.set(alg, [...(keys.get(alg) ?? []), found])
    }
    return null
  } catch (error) {
    return `malformed (${messageOf(error)})`
  }
}

/** `issuer` is no member of a key in RFC 7517, but the keys of Microsoft have it. */
function issuerIn(jwk: JsonObject): string | undefined {
  const issuer = member(jwk, 'issuer')
  return typeof issuer === 'string' ? issuer : undefined
}

function fits(jwk: JsonObject, alg: string, { kty, crv }: Algorithm): boolean {
  const named = member(jwk, 'alg')
  return (
    member(jwk, 'kty') === kty &&
    (crv === undefined || member(jwk, 'crv') === crv) &&
    (named === undefined || named === alg)
  )
}

/** Only the numbers. Certificate chains, URLs and usages of the document are ignored. */
function publicPart(jwk: JsonObject) {
  const part = { kty: String(member(jwk, 'kty')) }
  for (const name of ['n', 'e', 'crv', 'x', 'y']) {
    const value = member(jwk, name)
    if (value !== undefined) Object.assign(part, { [name]: value })
  }
  return part
}

/** If two keys have the same kid and algorithm, neither is used, because the right one is unknown. */
function withoutTwins(list: readonly UsableKey[], twins: Set<number>): UsableKey[] {
  const isTwin = (a: UsableKey) => a.kid !== undefined && list.some((b) => b !== a && b.kid === a.kid)
  for (const { index } of list.filter(isTwin)) twins.add(index)
  return list.filter((key) => !isTwin(key))
}

function countKeys(keys: KeySet): number {
  return new Set([...keys.values()].flat().map((key) => key.index)).size
}
