import { quote } from './problems.ts'
import { type ReadSecret, secretFiles } from './secret-files.ts'
import type { Reading } from './units.ts'

/** The variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

const ANY = /\$(\$\{)|\$\{([^}]*)(\}?)/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/
/** What begins with a minus is the default of a variable named `file`. */
const FILE = /^file:(?!-)([\s\S]+)$/

/** Whether a text asks for the environment or a file, or escapes that it does not. */
export function mentionsEnvironment(text: string): boolean {
  return text.includes('${')
}

/** Whether a text is one `${…}` and nothing else, so that what it stands for may be a number or a boolean. */
export function isOneVariable(text: string): boolean {
  return /^\$\{[^}]*\}$/.test(text)
}

/** Whether a text is a variable as a shell would have it: here it stands for itself, and a secret would be its name. */
export function isShellVariable(text: string): boolean {
  return /^\$[A-Z_][A-Z0-9_]*$/.test(text)
}

/**
 * Puts the environment into a text: `${NAME}`, `${NAME:-default}` if the variable is not set or empty, `${file:PATH}` for
 * the text of a file without the end of its last line, and `$${` for the characters `${`. What is put in is not looked at
 * again. A default or a path cannot hold a closing brace.
 * @param readSecret reads such a file. Default by a path that is relative to the working directory
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
