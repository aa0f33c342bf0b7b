import { type Finding, formatPath } from './problems.ts'
import type { Variable } from './yaml-data.ts'

/** Syntax characters in our own sentences, like "%". They reveal nothing of a secret, and the cure needs them. */
const MARK = /^[^\p{L}\p{N}\s]{1,2}$/u
/** A text that is quoted like JSON. Some sentences contain unquoted names from the file, which may look like a quotation. */
const QUOTED = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/g

/** A value from the environment or a file may be a secret in the wrong place, so problems name its source and not the value. */
export function maskVariables(findings: readonly Finding[], variables: ReadonlyMap<string, Variable>): Finding[] {
  return findings.map((finding) => {
    const variable = variables.get(formatPath(finding.path))
    return variable === undefined ? finding : { ...finding, message: mask(finding.message, variable) }
  })
}

function mask(message: string, { written, text }: Variable): string {
  return message.replace(QUOTED, (quoted) => {
    const start = (JSON.parse(quoted) as string).replace(/\.\.\.$/, '')
    return start !== '' && !MARK.test(start) && text.includes(start) ? JSON.stringify(written) : quoted
  })
}
