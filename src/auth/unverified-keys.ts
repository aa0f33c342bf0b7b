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

/** Where a key is that only the upstream can check. */
export type KeySource = CredentialSource & {
  /** The claim that names the user of a key that is a JWT, which nobody verifies. By default each JWT is a user of its own. */
  readonly userClaim?: string
}

/** Whether nobody is refused now: only then a claim that nobody verifies may name a user, whose quota anybody could use up. */
export type IsWatchedOnly = () => boolean

/**
 * Callers by keys that only the upstream can check: the user is the SHA-256 of the key, so that one key is one user, and
 * nothing that is stored, logged or shown is a key. What many upstreams read as another spelling of a key is refused, or read as
 * that key: else each spelling would be a user with limits of its own.
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

/** Of a JWT that is read, in characters: strangers write it, and nobody remembers what it said. */
const LONGEST_PAYLOAD = 4096

/** The user of a JWT whose signature nobody has checked; `null` if it is none, or names nobody. */
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

/** Python trims more characters than HTTP does, and what stands behind a scheme is taken apart at blanks. */
function formOf(source: CredentialSource): (key: string) => boolean {
  if (source.kind === 'header' && source.scheme === null) return (key) => /^[!-~]+(?: [!-~]+)*$/.test(key)
  // A blank in a query may be written as a plus sign, too.
  if (source.kind !== 'header' || source.scheme?.toLowerCase() !== 'basic') return (key) => /^[!-~]+$/.test(key)
  // Decoders pass over padding, over the last bits, and over characters that are none of the alphabet.
  return (key) => key !== '' && Buffer.from(key, 'base64').toString('base64') === key
}
