/** Line and column in the file, both from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Keys and list indexes from the top of the file. */
export type Path = readonly (string | number)[]

/** Something wrong with a configuration, at its place. */
export interface Problem extends Position {
  readonly file: string
  /** For example `routes[3].cost`; `file` for the file as a whole, `yaml` for its syntax. */
  readonly path: string
  /** What is wrong, and the cure. */
  readonly message: string
  /** A warning does not keep the configuration from being used. */
  readonly severity: 'problem' | 'warning'
}

/** A problem that is yet to be located. */
export interface Finding {
  readonly path: Path
  readonly message: string
  /** Default `problem`. */
  readonly severity?: Problem['severity']
  /** The key of the map at `path` that is meant, rather than the map. */
  readonly key?: string
  /** Where the place is known already. */
  readonly at?: Position
}

/** One line for each, in the order given: `FILE:LINE:COL path: what is wrong, and the cure`. */
export function formatProblems(problems: readonly Problem[]): string {
  return problems.map(formatProblem).join('\n')
}

function formatProblem({ file, line, column, path, message, severity }: Problem): string {
  const mark = severity === 'warning' ? 'warning: ' : ''
  return `${file}:${line}:${column} ${path}: ${mark}${message}`
}

/** By line, then column; those of one place stay in their order. Repetitions are left out. */
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

/** Text of the file or of the environment for a message: on one line, without control characters, and not endless. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text)
}
