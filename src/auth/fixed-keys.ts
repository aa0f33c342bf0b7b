import { readFile } from 'node:fs/promises'
import { messageOf } from '../errors.ts'
import { jsonFault } from '../lib/json-fault.ts'
import { ALGORITHMS } from './algorithms.ts'
import { importSecret } from './jose.ts'
import { findKeys, type KeySource, readKeySet, type VerifyingKey } from './key-set.ts'

/** Keys that stay as they are until the configuration is loaded again. */

const NO_OTHER = { is: 'unknown' } as const

/**
 * A JWK set in a file. Nobody else can mend it, so a key that must not be used is an error here, not a warning.
 * @throws Error naming the file
 */
export async function keysFromFile(path: string, algorithms: readonly string[]): Promise<KeySource> {
  const { keys, refused } = await readFile(path, 'utf8')
    .then((text) => readKeySet(parse(text)))
    .catch((cause: unknown) => {
      throw new Error(`cannot use key set ${path}: ${messageOf(cause)}`, { cause })
    })
  if (refused.length > 0) throw new Error(`key set ${path} is refused: ${refused.join('; ')}`)
  if (!algorithms.some((alg) => keys.has(alg)))
    throw new Error(`key set ${path} has no key for ${algorithms.join(', ')}`)
  return { find: (alg, kid) => findKeys(keys, alg, kid), findOther: () => NO_OTHER, close: () => {} }
}

/** The error of `JSON.parse` would show a piece of the text, line ends and all, and that may be one of a private key. */
function parse(text: string): unknown {
  const fault = jsonFault(text)
  if (fault !== null) throw new Error(fault)
  return JSON.parse(text)
}

/**
 * A shared secret, its UTF-8 bytes as they are. It has no kid: a token's is not looked at.
 * @throws Error if the secret is shorter than the hash of an algorithm (RFC 7518, section 3.2)
 */
export async function keysFromSecret(secret: string, algorithms: readonly string[]): Promise<KeySource> {
  const bytes = new TextEncoder().encode(secret)
  const keys = new Map<string, VerifyingKey>()
  for (const alg of algorithms) {
    const algorithm = ALGORITHMS.get(alg)
    if (algorithm === undefined) continue
    if (bytes.length < algorithm.hashBytes) {
      throw new Error(`secret of ${bytes.length} bytes is too short: ${alg} needs ${algorithm.hashBytes} at least`)
    }
    keys.set(alg, { id: alg, key: importSecret(bytes), cost: 0 })
  }
  return {
    find(alg) {
      const key = keys.get(alg)
      return key === undefined ? { is: 'unknown' } : { is: 'keys', keys: [key] }
    },
    findOther: () => NO_OTHER,
    close: () => {},
  }
}
