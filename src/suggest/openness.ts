import type { PathAllowances } from '../routing/target.ts'

/**
 * The settings by which a gateway with its quota in shadow refuses nobody: it lets through every request that a service may get without
 * a gateway. A trial uses them, and so does the file that it suggests, until the file enforces.
 */

/** Settings of `edge`, as in YAML. */
export const OPEN_EDGE = {
  lenient: '[underscore_names, punctuation_names, non_utf8_path, encoded_percent, encoded_backslash]',
  allow_in_path: '[encoded_slash, semicolon, empty_segment]',
  shares: '{ address: none, user: none, tunnels: { user: none } }',
} as const

/** The same openness for the paths of a log. */
export const OPEN_PATHS: PathAllowances = {
  encodedSlash: true,
  emptySegment: true,
  semicolon: true,
  lenient: new Set(['non_utf8_path', 'encoded_percent', 'encoded_backslash']),
}

/** The place of a client's key that only the service checks: after `Bearer` in Authorization, or another whole field. */
export function unverifiedKeys(field: string): string {
  const scheme = /^authorization$/i.test(field) ? ', scheme: Bearer' : ''
  return `{ header: ${JSON.stringify(field)}${scheme}, user_claim: sub }`
}
