import type { FieldProblem, Headers, Route } from './answer.ts'

/** The conditions of a change: RFC 9110, 13.1, on versions instead of bytes. */

/**
 * Whether If-Match lets a version be changed, `null` for what is not there yet: that has the version "0", and `*` does not
 * name it. What is not one of our tags matches nothing.
 */
export function readIfMatch({ 'if-match': header }: Headers): (version: number | null) => boolean {
  if (header === undefined) return () => true
  const text = [header].flat().join(',').trim()
  if (text === '*') return (version) => version !== null
  const versions = text.split(',').map((tag) => /^"(\d{1,15})"$/.exec(tag.trim())?.[1])
  return (version) => versions.includes(String(version ?? 0))
}

/** A condition that is passed over would be taken for one that was met: a change that cannot judge it is not made. */
export function unreadConditions({ guard, doc }: Route, headers: Headers): FieldProblem[] {
  if (guard !== 'change') return []
  const problems: FieldProblem[] = []
  if (doc.ifMatch !== true && headers['if-match'] !== undefined) problems.push({ path: 'If-Match', msg: NO_VERSION })
  if (headers['if-none-match'] !== undefined) problems.push({ path: 'If-None-Match', msg: ONLY_IF_MATCH })
  return problems
}

const NO_VERSION = 'is not possible here, since what this changes has no version: leave it out'
const ONLY_IF_MATCH = 'is not possible: send If-Match, with "0" for what must not be there yet'
