import { compactVerify, errors, importJWK, type JWK } from 'jose'
import type { Algorithm } from './algorithms.ts'

/** The one door to jose: it imports keys and checks signatures. What a token says is read and judged by us. */

/** @throws on a key that is malformed, not on its curve, or not for the algorithm */
export async function importPublicKey(jwk: JWK, alg: string): Promise<CryptoKey> {
  const key = await importJWK(jwk, alg)
  if (key instanceof Uint8Array || key.type !== 'public') throw new TypeError('not a public key')
  return key
}

/** Imported once: jose would do it again for each token. */
export function importSecret(secret: Uint8Array<ArrayBuffer>, { hashBytes }: Algorithm): Promise<CryptoKey> {
  const hmac = { name: 'HMAC', hash: `SHA-${hashBytes * 8}` }
  return crypto.subtle.importKey('raw', secret, hmac, false, ['verify'])
}

export async function signatureHolds(token: string, key: CryptoKey, alg: string): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [alg] })
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}
