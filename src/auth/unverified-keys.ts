import { createHash } from 'node:crypto'
import type { Denial } from '../errors.ts'
import type { Asking } from './asking.ts'
import { tooLong } from './bearer-credential.ts'
import type { PageRule } from './cookie-origin.ts'
import { type CredentialSource, readerOf } from './credential-sources.ts'
import { type Caller, callerOf, invalid, several } from './verdict.ts'

/**
 * Callers by keys that only the upstream can check: the user is the SHA-256 of the key, so that one key is one user, and
 * nothing that is stored, logged or shown is a key. What many upstreams read as another spelling of a key is refused, or read as
 * that key: else each spelling would be a user with limits of its own.
 */
export function createKeyReader(
  source: CredentialSource,
  max: number,
  pages: PageRule,
): (asking: Asking) => Caller | Denial | null {
  const read = readerOf(source)
  const isKey = formOf(source)
  return (asking) => {
    const found = read(asking)
    const keys = new Set(source.kind === 'cookie' ? found.map(unescaped) : found)
    const [key] = keys
    if (key === undefined) return null
    if (keys.size > 1) return several()
    if (key.length > max) return tooLong(max, 'key too long')
    if (!isKey(key)) return invalid('malformed key', 'The credential is malformed.')
    const foreign = source.kind === 'cookie' ? pages(asking) : null
    if (foreign !== null) return foreign
    return callerOf(`${KEY_PREFIX}${createHash('sha256').update(key).digest('base64url')}`, 'unverified_key')
  }
}

/** Python trims more characters than HTTP does, and what stands behind a scheme is taken apart at blanks. */
function formOf(source: CredentialSource): (key: string) => boolean {
  const scheme = source.kind === 'header' ? source.scheme : null
  if (scheme === null) return (key) => /^[!-~]+(?: [!-~]+)*$/.test(key)
  if (scheme.toLowerCase() !== 'basic') return (key) => /^[!-~]+$/.test(key)
  // Decoders pass over padding, over the last bits, and over characters that are none of the alphabet.
  return (key) => key !== '' && Buffer.from(key, 'base64').toString('base64') === key
}

/** Express and PHP decode cookies. */
function unescaped(written: string): string {
  return written.replace(/%[0-9A-Fa-f]{2}/g, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
}

/** What the id of such a user begins with. */
export const KEY_PREFIX = 'key:'
