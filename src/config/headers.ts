import { quote } from './problems.ts'

/** Rules for the fixed headers that the backend gets. */

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/
/** RFC 9110 section 5.5, without obs-text at the ends. */
export const HEADER_VALUE = /^[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?$/

/** The gateway writes these itself, or they belong to one connection (RFC 9110 section 7.6.1). */
const OURS = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'content-length', 'expect', 'host', 'x-tollgate-user'],
])

/** What is wrong with the name of a fixed header; `null` for a good one. */
export function nameProblem(name: string): string | null {
  if (!TOKEN.test(name)) return `${quote(name)} is not a header name: write letters, digits and "-"`
  return OURS.has(name.toLowerCase()) ? `header ${name} is set by the gateway itself: remove it` : null
}

/** A name that differs from an earlier one in letter case only. */
export function repeatedName(names: readonly string[]): string | undefined {
  return names.find((name, i) => names.findIndex((other) => other.toLowerCase() === name.toLowerCase()) < i)
}
