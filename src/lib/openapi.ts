import { z } from 'zod'

/** What OpenAPI 3.1 documents have in common that are made of routes and of the very schemas that validate. */

export const OPENAPI_VERSION = '3.1.1'

/** @param operation how a route is described, but for its path, which may have parameters as in `/songs/:id` */
export function openapiDocument<R extends { readonly method: string; readonly path: string }>(
  info: object,
  routes: readonly R[],
  operation: (route: R) => object,
  components?: object,
) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return { openapi: OPENAPI_VERSION, info, servers: [{ url: '/' }], paths, ...(components && { components }) }
}

/** `GET /bot/player/:qq` is `getBotPlayerQq`. */
export function operationId(method: string, path: string): string {
  const words = path.split(/[\W_]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return method.toLowerCase() + words.join('')
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: object
  readonly description?: string
}

/** The names of the parameters of `/songs/:id`. */
export function namesIn(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
}

export function pathParameter(name: string, description?: string): Parameter {
  const parameter = { name, in: 'path', required: true, schema: { type: 'string' } } as const
  return description === undefined ? parameter : { ...parameter, description }
}

/** One for each member of an object. */
export function parametersOf(where: Parameter['in'], object: z.ZodObject, options?: SchemaOptions): Parameter[] {
  const { properties = {}, required = [] } = schemaOf(object, options)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema: schema as object,
  }))
}

export function requestBody(schema: z.ZodType, content: object) {
  return { required: !schema.safeParse(undefined).success, content: { 'application/json': content } }
}

type SchemaOptions = z.core.ToJSONSchemaParams

/** What is read of a value, if `options` do not ask for what is sent. */
export function schemaOf(schema: z.ZodType, options?: SchemaOptions) {
  const { $schema, ...json } = z.toJSONSchema(schema, { io: 'input', ...options })
  return json
}

/** The pattern of a date is as long as a page, and `format` says the same. */
export function shortenDate({ jsonSchema }: { readonly jsonSchema: { format?: unknown; pattern?: unknown } }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
}
