import * as z from 'zod'

/** An OpenAPI 3.1 document, made of the routes of a service and of the very schemas that validate. */

/** One answer of an operation. */
export interface ResponseDoc {
  readonly description: string
  /** Default: an answer without a documented body. */
  readonly schema?: z.ZodType
  /** Default `application/json`. */
  readonly contentType?: string
  readonly example?: unknown
}

/** How one route is described. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** With parameters as in `/songs/:id`. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  /** The group in which it is shown. */
  readonly tag?: string
  /** Names of security schemes of which one is needed; empty: nobody has to show anything. */
  readonly security: readonly string[]
  /** Objects whose members are the parameters; those of the path are strings if they are not described. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly headers?: z.ZodObject
  readonly body?: z.ZodType
  readonly bodyExample?: unknown
  readonly responses: Readonly<Record<number, ResponseDoc>>
}

export interface DocumentOptions {
  readonly title: string
  readonly version: string
  readonly description: string
  readonly operations: readonly Operation[]
  readonly securitySchemes?: Readonly<Record<string, object>>
}

export function openapiDocument({ title, version, description, operations, securitySchemes }: DocumentOptions) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationOf(operation) }
  }
  return {
    openapi: '3.1.1',
    info: { title, version, description },
    servers: [{ url: '/' }],
    paths,
    ...(securitySchemes !== undefined && { components: { securitySchemes } }),
  }
}

function operationOf(operation: Operation) {
  const { method, path, summary, description, tag, security, body, bodyExample, responses } = operation
  const parameters = [...pathParameters(operation), ...parametersOf('query', operation.query)]
  parameters.push(...parametersOf('header', operation.headers))
  return {
    operationId: operationId(method, path),
    summary,
    ...(description !== undefined && { description }),
    ...(tag !== undefined && { tags: [tag] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { 'application/json': content(body, bodyExample) },
      },
    }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [status, responseOf(response)]),
    ),
    security: security.map((scheme) => ({ [scheme]: [] })),
  }
}

/** `GET /api/bot/player/:qq` is `getApiBotPlayerQq`. */
function operationId(method: string, path: string): string {
  const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1)
  return (
    method.toLowerCase() +
    path
      .split(/[\W_]+/)
      .map(capital)
      .join('')
  )
}

function pathParameters({ path, params }: Operation) {
  const known = new Map(parametersOf('path', params).map((parameter) => [parameter.name, parameter]))
  return [...path.matchAll(/:(\w+)/g)].map(
    ([, name = '']) => known.get(name) ?? { name, in: 'path', required: true, schema: { type: 'string' } },
  )
}

function parametersOf(where: 'path' | 'query' | 'header', object: z.ZodObject | undefined) {
  if (object === undefined) return []
  const { properties = {}, required = [] } = schemaOf(object)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema: schema as object,
  }))
}

function responseOf({ description, schema, contentType = 'application/json', example }: ResponseDoc) {
  return {
    description,
    ...(schema !== undefined && { content: { [contentType]: content(schema, example, 'output') } }),
  }
}

function content(schema: z.ZodType, example: unknown, io: 'input' | 'output' = 'input') {
  return { schema: schemaOf(schema, io), ...(example !== undefined && { example }) }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output' = 'input') {
  const { $schema, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: shorten })
  return json
}

interface Shown {
  format?: unknown
  pattern?: unknown
  minimum?: unknown
  maximum?: unknown
}

/** The pattern of a date is as long as a page, and `format` says the same. No service means the bounds of a double. */
function shorten({ jsonSchema }: { jsonSchema: Shown }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
