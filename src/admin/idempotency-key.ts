import type { FieldProblem, Headers } from './http.ts'

/** In characters. */
export const MOST_OF_KEY = 255

/** The idempotency key of a request, which is unique for its sender; `null` for none. */
export function readIdempotencyKey({
  'idempotency-key': header,
}: Headers): { readonly key: string | null } | { readonly problems: readonly FieldProblem[] } {
  if (header === undefined) return { key: null }
  const key = [header].flat().join(', ')
  if (key.length >= 1 && key.length <= MOST_OF_KEY) return { key }
  return { problems: [{ path: 'Idempotency-Key', msg: `must have 1 to ${MOST_OF_KEY} characters` }] }
}
