import { z } from 'zod'
import { schema } from './schema.ts'

type Json = { [key: string]: unknown }

const VARIABLE = { $ref: '#/$defs/variable' }

/**
 * The JSON Schema (draft 2020-12) of the configuration file, with which editors complete and check it. It describes single
 * values; only `check` knows the rules between keys. A shape that several keys have, such as a price, stands once in `$defs`.
 */
export function jsonSchema(): Json {
  const { $schema, $defs = {}, ...root } = z.toJSONSchema(schema, { io: 'input' })
  return {
    $schema,
    title: 'Tollgate',
    ...withVariables(root as Json),
    $defs: {
      ...eachWithVariables($defs as Json),
      variable: {
        type: 'string',
        pattern: '\\$\\{',
        description: `From the environment: $\{NAME} or $\{NAME:-default}; or the text of a file: $\{file:PATH}`,
      },
    },
  }
}

/** The JSON Schema as the text of config/tollgate.schema.json. */
export function printJsonSchema(): string {
  return `${JSON.stringify(jsonSchema(), null, 2)}\n`
}

/** A value that is not free text may also be a variable. */
function withVariables(node: Json): Json {
  const { description: said, default: byDefault, range: _, end, ...rest } = mapChildren(node)
  const description = end === undefined ? said : `${said}. ${end}`
  if (!isStrict(node)) return { ...about(description, byDefault), ...rest }
  return { ...about(description, byDefault), anyOf: [rest, VARIABLE] }
}

function isStrict({ type, pattern, ...rest }: Json): boolean {
  if (type === 'integer' || type === 'number' || type === 'boolean') return true
  return type === 'string' && (pattern !== undefined || 'enum' in rest || 'const' in rest)
}

function mapChildren(node: Json): Json {
  const mapped = { ...node }
  for (const key of ['items', 'additionalProperties']) {
    if (isJson(node[key])) mapped[key] = withVariables(node[key])
  }
  if (Array.isArray(node.anyOf)) mapped.anyOf = node.anyOf.map((branch: Json) => withVariables(branch))
  if (isJson(node.properties)) mapped.properties = eachWithVariables(node.properties)
  return mapped
}

function eachWithVariables(nodes: Json): Json {
  return Object.fromEntries(Object.entries(nodes).map(([key, node]) => [key, withVariables(node as Json)]))
}

function about(description: unknown, byDefault: unknown): Json {
  return {
    ...(description !== undefined && { description }),
    ...(byDefault !== undefined && { default: byDefault }),
  }
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}
