import { type Finding, formatPath } from './problems.ts'
import type { Variable } from './yaml-data.ts'

/** Marks of the syntax that our own sentences name, like "%": they say nothing of a secret, and a cure is not understood without. */
const MARK = /^[^\p{L}\p{N}\s]{1,2}$/u
/** As JSON quotes: names from the file stand in some sentences as they are, and may hold what looks like a quotation and is none. */
const QUOTED = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/g

/** A value from the environment or a file may be a secret, put in the wrong place: problems name its source and not the value. */
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
