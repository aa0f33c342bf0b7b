import { createHash } from 'node:crypto'
import type { Denial } from '../errors.ts'
import type { Asking } from './asking.ts'
import { tooLong } from './bearer-credential.ts'
import { type CredentialSource, readerOf } from './credential-sources.ts'
import { type Caller, callerOf, invalid, several } from './verdict.ts'

/**
 * Callers by keys that only the upstream can check: the user is the SHA-256 of the key, so that one key is one user, and
 * nothing that is stored, logged or shown is a key.
 */
export function createKeyReader(source: CredentialSource, max: number): (asking: Asking) => Caller | Denial | null {
  const read = readerOf(source)
  return (asking) => {
    const keys = new Set(read(asking))
    const [key] = keys
    if (key === undefined) return null
    if (keys.size > 1) return several()
    if (key === '') return invalid('malformed key', 'The credential is malformed.')
    if (key.length > max) return tooLong(max, 'key too long')
    return callerOf(`${KEY}${createHash('sha256').update(key, 'latin1').digest('base64url')}`, 'unverified_key')
  }
}

/** What the id of such a user begins with. */
export const KEY = 'key:'
