import { messageOf } from '../errors.ts'
import { jsonFault } from '../lib/json-fault.ts'
import { readRegular } from '../lib/regular-file.ts'
import { ALGORITHMS } from './algorithms.ts'
import { importSecret } from './jose.ts'
import { findKeys, type KeySource, readKeySet, type VerifyingKey } from './key-set.ts'

/** Keys that stay the same until the configuration is reloaded. */

const NO_OTHER = { is: 'unknown' } as const
const ALWAYS_THERE = { hasKeys: () => true, wasRead: () => true, prepare: async () => {}, close: () => {} }

/**
 * Reads a JWK set from a file. Only its operator can repair it, so an unusable key is an error, not a warning.
 * @throws Error naming the file
 */
export async function keysFromFile(path: string, algorithms: readonly string[]): Promise<KeySource> {
  const { keys, refused } = await readRegular(path)
    .then((bytes) => readKeySet(parse(bytes.toString())))
    .catch((cause: unknown) => {
      throw new Error(`cannot use key set ${path}: ${messageOf(cause)}`, { cause })
    })
  if (refused.length > 0) throw new Error(`key set ${path} is refused: ${refused.join('; ')}`)
  if (!algorithms.some((alg) => keys.has(alg)))
    throw new Error(`key set ${path} has no key for ${algorithms.join(', ')}`)
  return {
    find: (alg, kid) => findKeys(keys, alg, kid),
    findOther: () => NO_OTHER,
    ...ALWAYS_THERE,
  }
}

/** The error of `JSON.parse` would show a part of the text with its line ends, which may be part of a private key. */
function parse(text: string): unknown {
  const fault = jsonFault(text)
  if (fault !== null) throw new Error(fault)
  return JSON.parse(text)
}

/**
 * Shared secrets, as their UTF-8 bytes. They have no kid, so each secret is tried, and the kid of a token is ignored.
 * @param secrets one, or two during a rotation
 * @throws Error if a secret is shorter than the hash of an algorithm (RFC 7518, section 3.2)
 */
export async function keysFromSecrets(secrets: readonly string[], algorithms: readonly string[]): Promise<KeySource> {
  const keys = new Map(algorithms.map((alg) => [alg, secrets.map((secret, i) => keyOf(secret, alg, `${alg} ${i}`))]))
  return {
    find(alg) {
      const found = keys.get(alg)
      return found === undefined ? NO_OTHER : { is: 'keys', keys: found }
    },
    findOther: () => NO_OTHER,
    ...ALWAYS_THERE,
  }
}

function keyOf(secret: string, alg: string, id: string): VerifyingKey {
  const bytes = new TextEncoder().encode(secret)
  const least = ALGORITHMS.get(alg)?.hashBytes ?? 0
  if (bytes.length < least) {
    throw new Error(`secret of ${bytes.length} bytes is too short: ${alg} needs ${least} at least`)
  }
  return { id, key: importSecret(bytes), cost: 0, issuer: undefined }
}
