import { type Finding, formatPath, type Path } from './problems.ts'
import type { ReadSecret } from './secret-files.ts'
import { type Environment, isOneVariable, isShellVariable, mentionsEnvironment, substitute } from './substitute.ts'
import type { Tree } from './tree.ts'

/** The plain data of a tree, with variables replaced. Maps become objects without a prototype. */
export interface PlainData {
  readonly data: unknown
  readonly findings: readonly Finding[]
  /** Formatted paths of refused values, about which nothing more is reported. */
  readonly refused: ReadonlySet<string>
  /** By formatted path, values from the environment or a file. */
  readonly variables: ReadonlyMap<string, Variable>
}

export interface Variable {
  /** As in the file. */
  readonly written: string
  readonly text: string
}

/** A text that plain YAML takes for a number. */
const NUMBER = /^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/

/** The message does not repeat the value, because it may still be a secret. */
const AS_WRITTEN = `is taken as it is written, with its "$": write \${NAME} where a variable of the environment is meant`

/**
 * Replaces variables and secrets after parsing, so that no value can add a key. A plain scalar that is one `${…}` becomes a number or a
 * boolean if its text is one.
 * @param asText formatted paths of values that stay text even if they look like numbers, because a secret of digits is no number
 */
export function toData(
  tree: Tree,
  env: Environment,
  readSecret: ReadSecret,
  asText: ReadonlySet<string> = new Set(),
): PlainData {
  const findings: Finding[] = []
  const refused = new Set<string>()
  const variables = new Map<string, Variable>()

  function convert(node: Tree, path: Path): unknown {
    if (node.kind === 'list') return node.items.map((item, i) => convert(item, [...path, i]))
    if (node.kind === 'map') {
      const object: Record<string, unknown> = Object.create(null)
      for (const [key, { value }] of node.entries) object[key] = convert(value, [...path, key])
      return object
    }
    const { value, plain } = node
    if (value === undefined) refused.add(formatPath(path))
    if (typeof value !== 'string') return value
    if (isShellVariable(value)) findings.push({ path, message: AS_WRITTEN, severity: 'warning' })
    if (!mentionsEnvironment(value)) return value
    return insert(value, plain, path)
  }

  function insert(written: string, plain: boolean, path: Path): unknown {
    const reading = substitute(written, env, readSecret)
    if ('problem' in reading) {
      findings.push({ path, message: reading.problem })
      refused.add(formatPath(path))
      return undefined
    }
    const place = formatPath(path)
    variables.set(place, { written, text: reading.value })
    return plain && isOneVariable(written) && !asText.has(place) ? typed(reading.value) : reading.value
  }

  return { data: convert(tree, []), findings, refused, variables }
}

function typed(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : text
}
