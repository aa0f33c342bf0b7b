import type { FieldProblem, Headers, Route } from './http.ts'

/** The conditions of a change (RFC 9110, 13.1), applied to versions instead of bytes. */

export interface IfMatch {
  /**
   * Whether the condition allows to change something of this version. `null` stands for something that does not exist yet: the tag `"0"`
   * matches it, and `*` does not.
   */
  lets(version: number | null): boolean
  /** Whether the header was sent without any tag of ours, so that it matches nothing. */
  readonly isStrange: boolean
}

export function readIfMatch({ 'if-match': header }: Headers): IfMatch {
  if (header === undefined) return { lets: () => true, isStrange: false }
  const text = [header].flat().join(',').trim()
  if (text === '*') return { lets: (version) => version !== null, isStrange: false }
  const versions = text.split(',').flatMap((tag) => /^"(\d{1,15})"$/.exec(tag.trim())?.[1] ?? [])
  return { lets: (version) => versions.includes(String(version ?? 0)), isStrange: versions.length === 0 }
}

/** The headers that a change does not read. If such a header was ignored, the client would rely on it, so the change is refused. */
export function unreadConditions({ method, guard, doc }: Route, headers: Headers): FieldProblem[] {
  if (guard !== 'change') return []
  const problems: FieldProblem[] = []
  if (doc.ifMatch !== true && headers['if-match'] !== undefined) problems.push({ path: 'If-Match', msg: NO_VERSION })
  if (method === 'POST' && doc.idempotencyKey !== true && headers['idempotency-key'] !== undefined) {
    problems.push({ path: 'Idempotency-Key', msg: NO_KEY })
  }
  if (headers['if-none-match'] !== undefined) problems.push({ path: 'If-None-Match', msg: ONLY_IF_MATCH })
  return problems
}

const NO_VERSION = 'is not possible here, since what this changes has no version: leave it out'
const NO_KEY = 'is not possible here: a request that comes again is made once more, so leave it out'
const ONLY_IF_MATCH = 'is not possible: send If-Match, with "0" for what must not be there yet'
