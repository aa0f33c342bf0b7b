import type { Denial } from '../errors.ts'
import { type CredentialSource, kindOfSource } from '../inputs/credential-sources.ts'

/**
 * The challenges of a 401, one for each accepted scheme (RFC 9110, section 11.6.1). A cookie, a parameter and a
 * subprotocol have no scheme of their own, because their credentials could also come as Bearer.
 */
export function createChallenges(sources: readonly CredentialSource[]): (refused: Denial) => Denial {
  const named = sources.map((source) => kindOfSource(source).challenge(source))
  const others = [...new Set(named.filter((challenge) => challenge !== null))]
  const takesBearer = others.length === 0 || named.includes(null)
  return (refused) => {
    const bearer = refused.headers?.['WWW-Authenticate']
    if (refused.code !== 'unauthorized' || bearer === undefined) return refused
    const all = takesBearer ? [bearer, ...others] : others
    return { ...refused, headers: { ...refused.headers, 'WWW-Authenticate': all.join(', ') } }
  }
}
