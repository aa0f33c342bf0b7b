import type { PathAllowances } from '../routing/target.ts'

/**
 * What a gateway has to let through that is to refuse nobody, beside a quota in shadow: all that a service of HTTP may get from its
 * clients without a gateway. A trial has it, and the file that is suggested by its end, until the file enforces.
 */

/** Of `edge`, as YAML has it. */
export const OPEN_EDGE = {
  lenient: '[underscore_names, punctuation_names, non_utf8_path, encoded_percent, encoded_backslash]',
  allow_in_path: '[encoded_slash, semicolon, empty_segment]',
  shares: '{ address: none, user: none, tunnels: { user: none } }',
} as const

/** The same for paths. */
export const OPEN_PATHS: PathAllowances = {
  encodedSlash: true,
  emptySegment: true,
  semicolon: true,
  lenient: new Set(['non_utf8_path', 'encoded_percent', 'encoded_backslash']),
}

/** Where a key of a client is that only the service checks: what follows `Bearer` in Authorization, or another field whole. */
export function unverifiedKeys(field: string): string {
  const scheme = /^authorization$/i.test(field) ? ', scheme: Bearer' : ''
  return `{ header: ${JSON.stringify(field)}${scheme}, user_claim: sub }`
}
