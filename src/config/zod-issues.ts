import type { z } from 'zod'
import type { Finding, Path } from './problems.ts'

/** Turns zod's issues into findings. The sentences come from the schema. */

type Issue = z.core.$ZodIssue

export function findingsOf(issues: readonly Issue[], base: Path = []): Finding[] {
  return issues.flatMap((issue) => findingsOfOne(issue, pathOf(issue, base)))
}

/** The paths of numbers and booleans in the place of a text. */
export function pathsThatWantText(issues: readonly Issue[]): Path[] {
  return issues.filter(wantsText).map((issue) => pathOf(issue, []))
}

function findingsOfOne(issue: Issue, path: Path): Finding[] {
  if (issue.code === 'unrecognized_keys') {
    const sentences = issue.message.split('\n')
    return issue.keys.map((key, i) => ({ path, key, message: sentences[i] ?? issue.message }))
  }
  if (issue.code === 'invalid_key') {
    return [{ path: path.slice(0, -1), key: String(path.at(-1)), message: issue.issues[0]?.message ?? issue.message }]
  }
  return issue.code === 'invalid_union' ? ofUnion(issue, path) : [{ path, message: issue.message }]
}

/** The problems of the shape that was probably meant, or one sentence if the value resembles none of the shapes. */
function ofUnion(issue: z.core.$ZodIssueInvalidUnion, path: Path): Finding[] {
  const meant = issue.errors.find((branch) => branch.length > 0 && !branch.some(isOtherShape))
  if (meant !== undefined) return findingsOf(meant, path)
  const misspelt = issue.errors.flat().find(({ message }) => message.includes('did you mean'))
  return [{ path, message: (misspelt ?? issue).message }]
}

function isOtherShape(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

function wantsText(issue: Issue): boolean {
  if (issue.code === 'invalid_union')
    return issue.errors.flat().some((inner) => isOtherShape(inner) && wantsText(inner))
  return issue.code === 'invalid_type' && issue.expected === 'string'
}

function pathOf(issue: Issue, base: Path): Path {
  return [...base, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))]
}
