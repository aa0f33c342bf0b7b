import { quote } from './problems.ts'
import type { Reading } from './units.ts'

/** The variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

const ANY = /\$(\$\{)|\$\{([^}]*)(\}?)/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/

/** Whether a text asks for the environment, or escapes that it does not. */
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
 * Puts the environment into a text: `${NAME}`, `${NAME:-default}` if the variable is not set or empty, and `$${` for
 * the characters `${`. What is put in is not looked at again. A default cannot hold a closing brace.
 */
export function substitute(text: string, env: Environment): Reading<string> {
  const problems: string[] = []
  const value = text.replace(ANY, (whole, escaped?: string, inside?: string, end?: string) => {
    if (escaped !== undefined) return escaped
    const reading = lookUp(whole, inside ?? '', end === '}', env)
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
      problem: `${quote(whole)} is not a variable: write \${NAME} or \${NAME:-default}, or $\${ for the characters`,
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
