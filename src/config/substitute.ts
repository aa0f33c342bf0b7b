import { quote } from './problems.ts'
import { type ReadSecret, secretFiles } from './secret-files.ts'
import type { Reading } from './units.ts'

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>

const ANY = /\$(\$\{)|\$\{([^}]*)(\}?)/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/
/** A minus introduces the default of a variable named `file`. */
const FILE = /^file:(?!-)([\s\S]+)$/

/** Whether a text refers to the environment or a file, or contains the escape `$${`. */
export function mentionsEnvironment(text: string): boolean {
  return text.includes('${')
}

/** Whether a text is exactly one `${…}`, which may then become a number or a boolean. */
export function isOneVariable(text: string): boolean {
  return /^\$\{[^}]*\}$/.test(text)
}

/** Whether a text is written like a shell variable, `$NAME`. It is plain text here, so the name would be taken for the secret. */
export function isShellVariable(text: string): boolean {
  return /^\$[A-Z_][A-Z0-9_]*$/.test(text)
}

/**
 * Replaces `${NAME}` by a variable, `${NAME:-default}` by the default if it is not set or empty, `${file:PATH}` by the
 * text of a file without its last line end, and `$${` by the characters `${`. Replaced text is not searched again. A
 * default or a path cannot contain a closing brace.
 * @param readSecret reads such a file. Default with paths relative to the working directory
 */
export function substitute(text: string, env: Environment, readSecret: ReadSecret = secretFiles('.')): Reading<string> {
  const problems: string[] = []
  const value = text.replace(ANY, (whole, escaped?: string, inside?: string, end?: string) => {
    if (escaped !== undefined) return escaped
    const [, path] = end === '}' ? (FILE.exec(inside ?? '') ?? []) : []
    const reading = path === undefined ? lookUp(whole, inside ?? '', end === '}', env) : readSecret(path)
    if ('value' in reading) return reading.value
    problems.push(reading.problem)
    return ''
  })
  return problems[0] === undefined ? { value } : { problem: problems.join('; ') }
}

function lookUp(whole: string, inside: string, closed: boolean, env: Environment): Reading<string> {
  const [, name, fallback] = NAME.exec(inside) ?? []
  if (!closed || name === undefined) {
    return {
      problem: `${quote(whole)} is not a variable: write \${NAME}, \${NAME:-default} or \${file:PATH}, or $\${ for the characters`,
    }
  }
  const found = Object.hasOwn(env, name) ? env[name] : undefined
  if (found !== undefined && (found !== '' || fallback === undefined)) {
    return found === '' ? { problem: `environment variable ${name} is empty: ${cure(name)}` } : { value: found }
  }
  return fallback === undefined
    ? { problem: `environment variable ${name} is not set: ${cure(name)}` }
    : { value: fallback }
}

function cure(name: string): string {
  return `set it, or give a default with \${${name}:-default}`
}
