/** Line and column in the file, both from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Keys and list indexes from the top level of the file. */
export type Path = readonly (string | number)[]

/** A problem of a configuration with its place. */
export interface Problem extends Position {
  readonly file: string
  /** For example `routes[3].cost`; `file` for the whole file, `yaml` for its syntax. */
  readonly path: string
  /** The problem and the cure. */
  readonly message: string
  /** A configuration with warnings can be used. */
  readonly severity: 'problem' | 'warning'
}

/** A problem without its place in the file. */
export interface Finding {
  readonly path: Path
  readonly message: string
  /** Default `problem`. */
  readonly severity?: Problem['severity']
  /** The key in the map at `path`, if the key itself is wrong. */
  readonly key?: string
  /** The place, if it is known already. */
  readonly at?: Position
}

/** One line for each, in the given order: `FILE:LINE:COL path: what is wrong, and the cure`. */
export function formatProblems(problems: readonly Problem[]): string {
  return problems.map(formatProblem).join('\n')
}

function formatProblem({ file, line, column, path, message, severity }: Problem): string {
  const mark = severity === 'warning' ? 'warning: ' : ''
  return `${file}:${line}:${column} ${path}: ${mark}${message}`
}

/** By line, then column, and otherwise in their order. Repetitions are left out. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map((p) => [formatProblem(p), p]))
  return [...unique.values()].sort((a, b) => a.line - b.line || a.column - b.column)
}

export function formatPath(path: Path): string {
  if (path.length === 0) return 'file'
  return path.map(formatStep).join('').replace(/^\./, '')
}

function formatStep(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return /^[\w-]+$/.test(step) ? `.${step}` : `[${quote(step)}]`
}

/** Text from the file or the environment for a message: one short line without control characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text)
}
