import { createHash } from 'node:crypto'
import { isUserId, JWT_PREFIX, KEY_PREFIX } from '../control/user-id.ts'
import { type Denial, isDenial } from '../errors.ts'
import type { CredentialSource } from '../inputs/credential-sources.ts'
import { unescaped } from '../lib/parameter-names.ts'
import type { Asking } from './asking.ts'
import { tooLong } from './bearer-credential.ts'
import { idOf } from './claim-facts.ts'
import type { PageRule } from './cookie-origin.ts'
import { readerOf } from './credential-sources.ts'
import { decodeBase64url, parseObject } from './jwt-encoding.ts'
import { type Caller, callerOf, invalid, several } from './verdict.ts'

/** Where a key may be that only the upstream can check. */
export type KeySource = CredentialSource & {
  /** The claim that names the user if the key is a JWT, which nobody verifies. By default each JWT is a user of its own. */
  readonly userClaim?: string
}

/** Whether nothing is refused now. Only then an unverified claim may name a user, whose quota anybody could use up. */
export type IsWatchedOnly = () => boolean

/**
 * Identifies callers by keys that only the upstream can check. The user is the SHA-256 of the key, so that no key is stored,
 * logged or shown. If many upstreams accept another spelling of a key, that spelling is refused or read as the same key.
 * Otherwise each spelling would be a user with limits of its own.
 */
export function createKeyReader(
  source: KeySource,
  max: number,
  pages: PageRule,
  isWatchedOnly: IsWatchedOnly,
): (asking: Asking) => Caller | Denial | null {
  const read = readerOf(source, true)
  const isKey = formOf(source)
  return (asking) => {
    const found = read(asking)
    if (isDenial(found)) return found
    // Express and PHP decode cookies.
    const keys = new Set(source.kind === 'cookie' ? found.map(unescaped) : found)
    const [key] = keys
    if (key === undefined) return null
    if (keys.size > 1) return several()
    if (key.length > max) return tooLong(max, 'key too long')
    if (!isKey(key)) return invalid('malformed key', 'The credential is malformed.')
    const foreign = source.kind === 'cookie' ? pages(asking) : null
    if (foreign !== null) return foreign
    const { userClaim } = source
    const named = userClaim !== undefined && isWatchedOnly() ? namedBy(key, userClaim) : null
    return callerOf(named ?? `${KEY_PREFIX}${createHash('sha256').update(key).digest('base64url')}`, 'unverified_key')
  }
}

/** The longest payload of an unverified JWT, in characters. Strangers write the payload, and it is parsed each time. */
const LONGEST_PAYLOAD = 4096

/** The user in a JWT with an unchecked signature; `null` if it is no JWT or names no user. */
function namedBy(key: string, claim: string): string | null {
  const [, payload = '', signature, ...more] = key.split('.')
  if (signature === undefined || more.length > 0 || payload.length > LONGEST_PAYLOAD) return null
  const bytes = decodeBase64url(payload)
  const object = bytes === null ? null : parseObject(bytes)
  if (bytes === null || object === null) return null
  const id = idOf({ object, bytes }, claim)
  const user = `${JWT_PREFIX}${String(id)}`
  return isUserId(id) && isUserId(user) ? user : null
}

/**
 * Accepts only forms of a key that all upstreams read alike. Python trims more characters than HTTP does, and the part after a scheme is
 * split at blanks.
 */
function formOf(source: CredentialSource): (key: string) => boolean {
  if (source.kind === 'header' && source.scheme === null) return (key) => /^[!-~]+(?: [!-~]+)*$/.test(key)
  // In a query a plus sign also stands for a blank.
  if (source.kind !== 'header' || source.scheme?.toLowerCase() !== 'basic') return (key) => /^[!-~]+$/.test(key)
  // Decoders ignore padding, the last bits, and characters outside the alphabet.
  return (key) => key !== '' && Buffer.from(key, 'base64').toString('base64') === key
}
