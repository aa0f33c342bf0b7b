import type { Variable } from './data.ts'
import { type Finding, formatPath } from './problems.ts'

const QUOTED = /"(?:[^"\\]|\\.)*"/g

/** A value from the environment may be a secret, put in the wrong place: problems name the variable and not the value. */
export function maskVariables(findings: readonly Finding[], variables: ReadonlyMap<string, Variable>): Finding[] {
  return findings.map((finding) => {
    const variable = variables.get(formatPath(finding.path))
    return variable === undefined ? finding : { ...finding, message: mask(finding.message, variable) }
  })
}

function mask(message: string, { written, text }: Variable): string {
  return message.replace(QUOTED, (quoted) => {
    const start = (JSON.parse(quoted) as string).replace(/\.\.\.$/, '')
    return start !== '' && text.includes(start) ? JSON.stringify(written) : quoted
  })
}
