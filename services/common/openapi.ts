import * as z from 'zod'
import { namesIn, openapiDocument, operationId, type Parameter, pathParameter } from '../../src/lib/openapi.ts'
import { parametersOf, requestBody, schemaOf, shortenDate } from '../../src/lib/openapi-schemas.ts'

/** The OpenAPI document of a service, made from its routes. */

/** One response of an operation. */
export interface ResponseDoc {
  readonly description: string
  /** Default: a response without a documented body. */
  readonly schema?: z.ZodType
  /** Default `application/json`. */
  readonly contentType?: string
  readonly example?: unknown
}

/** The description of one route. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path, with parameters written as in `/songs/:id`. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  /** The group in which the operation is shown. */
  readonly tag?: string
  /** Names of security schemes, one of which is needed; empty: no credential is needed. */
  readonly security: readonly string[]
  /** Objects whose members are the parameters. Parameters of the path without a description are strings. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly headers?: z.ZodObject
  readonly body?: z.ZodType
  readonly bodyExample?: unknown
  readonly responses: Readonly<Record<number, ResponseDoc>>
}

interface ServiceOptions {
  readonly title: string
  readonly version: string
  readonly description: string
  readonly operations: readonly Operation[]
  readonly securitySchemes?: Readonly<Record<string, object>>
}

export function serviceDocument({ title, version, description, operations, securitySchemes }: ServiceOptions) {
  return openapiDocument(
    { title, version, description },
    operations,
    operationOf,
    securitySchemes && { securitySchemes },
  )
}

function operationOf({ method, path, summary, description, tag, security, body, responses, ...doc }: Operation) {
  const known = parametersOf('path', doc.params ?? NONE, OPTIONS)
  const parameters = [
    ...namesIn(path).map((name) => known.find((each) => each.name === name) ?? pathParameter(name)),
    ...parametersOf('query', doc.query ?? NONE, OPTIONS),
    ...parametersOf('header', doc.headers ?? NONE, OPTIONS),
  ].map(shown)
  return {
    operationId: operationId(method, path),
    summary,
    ...(description !== undefined && { description }),
    ...(tag !== undefined && { tags: [tag] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: requestBody(body, content(body, doc.bodyExample)) }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [status, responseOf(response)]),
    ),
    security: security.map((scheme) => ({ [scheme]: [] })),
  }
}

/** Moves description and example from the schema to the parameter itself, where the page shows them. */
function shown({ schema, ...parameter }: Parameter): Parameter & { readonly example?: unknown } {
  const { description, example, ...rest } = schema as { readonly description?: string; readonly example?: unknown }
  return {
    ...parameter,
    ...(description !== undefined && { description }),
    schema: rest,
    ...(example !== undefined && { example }),
  }
}

function responseOf({ description, schema, contentType = 'application/json', example }: ResponseDoc) {
  return {
    description,
    ...(schema !== undefined && { content: { [contentType]: content(schema, example, 'output') } }),
  }
}

function content(schema: z.ZodType, example: unknown, io: 'input' | 'output' = 'input') {
  return { schema: schemaOf(schema, { ...OPTIONS, io }), ...(example !== undefined && { example }) }
}

const NONE = z.object({})
const OPTIONS = { unrepresentable: 'any', override: shorten } as const

interface Shown {
  format?: unknown
  pattern?: unknown
  minimum?: unknown
  maximum?: unknown
}

/** Drops the bounds that Zod writes for safe integers, since no service sets them. */
function shorten({ jsonSchema }: { jsonSchema: Shown }): void {
  shortenDate({ jsonSchema })
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
