import { z } from 'zod'
import type { Parameter } from './openapi.ts'

/** The parts of an OpenAPI document that are made from the schemas that also validate. */

/** One parameter for each member of an object. */
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

/** The schema of a value as it is received, unless `options` ask for the sent form. */
export function schemaOf(schema: z.ZodType, options?: SchemaOptions) {
  const { $schema, ...json } = z.toJSONSchema(schema, { io: 'input', ...options })
  return json
}

/** Removes the pattern of a date: it is as long as a page, and `format` says the same. */
export function shortenDate({ jsonSchema }: { readonly jsonSchema: { format?: unknown; pattern?: unknown } }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
}
