import { constants, createHmac, type KeyObject, timingSafeEqual, type VerifyKeyObjectInput, verify } from 'node:crypto'
import { ALGORITHMS } from './algorithms.ts'

/** The signed text of a token and its signature. */
export interface Signed {
  readonly alg: string
  /** The text of header and payload. */
  readonly input: string
  readonly signature: Uint8Array
}

/** From this cost on a check runs in the thread pool. There it takes twice the CPU, mostly of the event loop. */
export const LONG = 5

/**
 * What a check costs, in tenths of a millisecond (Node 26.10). It is 0 up to a third of an accepted request: RSA up to 3072 bits takes 0.02
 * to 0.03 ms, and a shared secret less.
 */
export function costOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, alg: string): number {
  if (asymmetricKeyType === 'ec') return { ES384: 5, ES512: 10 }[alg] ?? 1
  if (asymmetricKeyType === 'ed25519') return 1
  const bits = asymmetricKeyDetails?.modulusLength ?? 0
  if (bits <= 3072) return 0
  return bits <= 4096 ? 1 : LONG
}

/** Checks a signature on the event loop, for keys with short checks. */
export function holds({ alg, input, signature }: Signed, key: KeyObject): boolean {
  const hash = hashOf(alg)
  if (key.type === 'secret') {
    const expected = createHmac(hash ?? '', key)
      .update(input, 'latin1')
      .digest()
    return expected.length === signature.length && timingSafeEqual(expected, signature)
  }
  if (!hasLengthOf(alg, signature)) return false
  return verify(hash, Buffer.from(input, 'latin1'), optionsOf(alg, key), signature)
}

/** Checks a signature in the thread pool, for keys with long checks. */
export function holdsInPool({ alg, input, signature }: Signed, key: KeyObject): Promise<boolean> {
  if (!hasLengthOf(alg, signature)) return Promise.resolve(false)
  return new Promise((resolve, reject) => {
    verify(hashOf(alg), Buffer.from(input, 'latin1'), optionsOf(alg, key), signature, (error, result) => {
      if (error) reject(error)
      else resolve(result)
    })
  })
}

function optionsOf(alg: string, key: KeyObject): VerifyKeyObjectInput {
  if (alg.startsWith('ES')) return { key, dsaEncoding: 'ieee-p1363' }
  // RFC 7518, section 3.5: the salt is as long as the hash.
  if (alg.startsWith('PS')) {
    return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: ALGORITHMS.get(alg)?.hashBytes ?? 0 }
  }
  return { key }
}

/** `null` if the algorithm has its own hash. */
function hashOf(alg: string): string | null {
  return alg.startsWith('Ed') ? null : `sha${alg.slice(-3)}`
}

/** A signature is two numbers, each as long as the curve (RFC 7518, section 3.4). */
function hasLengthOf(alg: string, { length }: Uint8Array): boolean {
  return !alg.startsWith('E') || length === 2 * curveBytesOf(alg)
}

function curveBytesOf(alg: string): number {
  return { ES384: 48, ES512: 66 }[alg] ?? 32
}
