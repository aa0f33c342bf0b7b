import { constants, createHmac, type KeyObject, timingSafeEqual, type VerifyKeyObjectInput, verify } from 'node:crypto'
import { ALGORITHMS } from './algorithms.ts'

/** What was signed and how, as a token has it. */
export interface Signed {
  readonly alg: string
  /** The text of header and payload. */
  readonly input: string
  readonly signature: Uint8Array
}

/** Above these a check takes so long that it is no matter of the event loop. */
const LONGEST_ON_LOOP = { rsaBits: 4096, curveBytes: 32 }

/**
 * Whether a check is left to the thread pool. Of the usual algorithms a check takes 30 to 60 us of the event loop; by way of the pool it takes
 * as much again, of which the loop has the most. One of ES384 takes 0.5 ms, one of ES512 1.1 (Node 26.10).
 */
export function isDear({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, alg: string): boolean {
  if (asymmetricKeyType === 'ec') return curveBytesOf(alg) > LONGEST_ON_LOOP.curveBytes
  return (asymmetricKeyDetails?.modulusLength ?? 0) > LONGEST_ON_LOOP.rsaBits
}

/** A check on the event loop, for keys that are not dear. */
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

/** The same in the thread pool, for keys that are. */
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

/** `null` where the algorithm has its own. */
function hashOf(alg: string): string | null {
  return alg.startsWith('Ed') ? null : `sha${alg.slice(-3)}`
}

/** Numbers of a point are as long as its curve, and a signature is two of them (RFC 7518, section 3.4). */
function hasLengthOf(alg: string, { length }: Uint8Array): boolean {
  return !alg.startsWith('E') || length === 2 * curveBytesOf(alg)
}

function curveBytesOf(alg: string): number {
  return { ES384: 48, ES512: 66 }[alg] ?? 32
}
