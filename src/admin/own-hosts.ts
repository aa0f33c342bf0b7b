import { isIP } from 'node:net'

const NAME_AND_PORT = /^(?:\[([0-9a-f:.]+)\]|([^:@/\s]+))(?::\d+)?$/i

/**
 * Whether a Host header names us: an address literal, a loopback name, or one of `names`. A page whose domain was made
 * to point at us (DNS rebinding) sends its own name, and is refused.
 */
export function isOurHost(host: string | undefined, names: readonly string[]): boolean {
  const match = NAME_AND_PORT.exec(host ?? '')
  if (match === null) return false
  const name = (match[1] ?? match[2] ?? '').toLowerCase().replace(/\.$/, '')
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || names.includes(name)
}
