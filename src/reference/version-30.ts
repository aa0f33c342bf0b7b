import { changed, type Json } from './json.ts'

/**
 * Turns a document of OpenAPI 3.0 into the form of 3.1, which takes its schemas from JSON Schema 2020-12: `nullable`
 * becomes the type `null`, and exclusive bounds become numbers. Other documents are left as they are.
 * https://www.openapis.org/blog/2021/02/16/migrating-from-openapi-3-0-to-3-1-0
 */
export function asVersion31(document: Json): Json {
  return typeof document.openapi === 'string' && document.openapi.startsWith('3.0.')
    ? (changed(document, convertSchema) as Json)
    : document
}

function convertSchema(schema: Json): Json {
  const { nullable, ...rest } = schema
  const result: Record<string, unknown> = typeof nullable === 'boolean' ? { ...rest } : { ...schema }
  if (nullable === true && typeof rest.type === 'string') result.type = [rest.type, 'null']
  if (nullable === true && Array.isArray(rest.enum) && !rest.enum.includes(null)) result.enum = [...rest.enum, null]
  exclusive(result, 'minimum', 'exclusiveMinimum')
  exclusive(result, 'maximum', 'exclusiveMaximum')
  return result
}

function exclusive(schema: Record<string, unknown>, bound: string, key: string): void {
  if (typeof schema[key] !== 'boolean') return
  if (schema[key] === true && schema[bound] !== undefined) {
    schema[key] = schema[bound]
    delete schema[bound]
  } else delete schema[key]
}
