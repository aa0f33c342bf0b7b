import type { FieldProblem, Headers } from './http.ts'

/** Of an idempotency key, in characters. */
export const MOST_OF_KEY = 255

/** The text that tells a request from all others of its sender, so that one that comes again is known; `null` for none. */
export function readIdempotencyKey({
  'idempotency-key': header,
}: Headers): { readonly key: string | null } | { readonly problems: readonly FieldProblem[] } {
  if (header === undefined) return { key: null }
  const key = [header].flat().join(', ')
  if (key.length >= 1 && key.length <= MOST_OF_KEY) return { key }
  return { problems: [{ path: 'Idempotency-Key', msg: `must have 1 to ${MOST_OF_KEY} characters` }] }
}
