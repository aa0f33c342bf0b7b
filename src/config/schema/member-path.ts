import { namesOfPath } from '../../lib/json-path.ts'
import { quote } from '../problems.ts'
import type { Reading } from '../units.ts'
import { read } from './values.ts'

/** The path of a JSON member, as its names. */
export const memberPath = (description: string) => read('the path of a member', parsePath).describe(description)

export function parsePath(path: string): Reading<readonly string[]> {
  const names = namesOfPath(path)
  if (names !== null && names.length > 0) return { value: names }
  const problem = `${quote(path)} is no path of a member: write it like params.name, or ["odd.name"] for a name with dots`
  return { problem }
}
