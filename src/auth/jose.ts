import { createSecretKey, KeyObject } from 'node:crypto'
import type { JWK } from 'jose'

/** Only this file uses jose. It reads public keys with jose, which is loaded for the first of them. Other files judge tokens. */

/** @throws if a key is malformed, not on its curve, or not for the algorithm */
export async function importPublicKey(jwk: JWK, alg: string): Promise<KeyObject> {
  const { importJWK } = await import('jose')
  const key = await importJWK(jwk, alg)
  if (key instanceof Uint8Array || key.type !== 'public') throw new TypeError('not a public key')
  return KeyObject.from(key)
}

export function importSecret(secret: Uint8Array): KeyObject {
  return createSecretKey(secret)
}
