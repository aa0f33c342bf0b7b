import { ADDRESS_PREFIX } from '../auth/address-callers.ts'
import type { RequestDone } from '../observe/observation.ts'
import { clfTimeOf } from '../replay/clf-time.ts'

type Seen = Pick<RequestDone, 'user' | 'kind' | 'method' | 'httpStatus' | 'clientStatus'>

/**
 * A request as a line in the format `combined`, without its query, which may contain secrets.
 * @param target as the client sent it
 * @param now when its response ended, in milliseconds since the epoch
 * @returns `null` if the sender is unknown, or if the service did not respond
 */
export function accessLine(target: string, seen: Seen, now: number): string | null {
  const { user, kind, method, httpStatus, clientStatus } = seen
  if (user === null || httpStatus === null || httpStatus === 0) return null
  const isAddress = kind === 'address'
  const [address, name] = isAddress ? [user.slice(ADDRESS_PREFIX.length), '-'] : ['-', escaped(user)]
  const path = escaped(target.replace(/[?#].*$/s, ''))
  return `${address} - ${name} [${clfTimeOf(now)}] "${method} ${path} HTTP/1.1" ${clientStatus} 0\n`
}

/** Escapes a text as nginx does, so that it can stand between quotes or blanks. */
function escaped(text: string): string {
  return text.replace(/[^!#-[\]-~]/g, (character) =>
    [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}
