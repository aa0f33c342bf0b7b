import { z } from 'zod'
import type { Parameter } from './openapi.ts'

/** The parts of an OpenAPI document that are made of the very schemas that validate. */

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
