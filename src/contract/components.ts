import { z } from 'zod'
import { schemaOf, shortenDate } from '../lib/openapi-schemas.ts'
import { describeFields } from './fields.ts'

/** Schemas as the components of an OpenAPI document. */

export type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The schemas of one document by their names in it, each with a sentence about it. */
export type Named = z.core.$ZodRegistry<{ id: string; description: string }>

const PLACE = '#/components/schemas/'

/** Sorted by name, because the order in which modules are loaded differs between processes. */
export function componentsOf(named: Named): Components {
  const { schemas } = z.toJSONSchema(named, {
    io: 'input',
    uri: (id) => PLACE + id,
    override: ({ zodSchema, jsonSchema }) => {
      shortenDate({ jsonSchema })
      const description = named.get(zodSchema)?.description
      if (description !== undefined) jsonSchema.description ??= description
    },
  })
  const described = Object.entries(schemas).map(
    ([id, { $schema, $id, ...schema }]) => [id, describeFields(schema, id)] as const,
  )
  return Object.fromEntries(described.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The content of a body: the name of its component, those of its alternatives, or the schema itself. */
export function contentOf(schema: z.ZodType, named: Named): { readonly schema: object } {
  const id = named.get(schema)?.id
  if (id === undefined && schema instanceof z.ZodUnion) {
    return { schema: { anyOf: schema.options.map((each) => contentOf(each as z.ZodType, named).schema) } }
  }
  return { schema: id === undefined ? describeFields(schemaOf(schema), '') : { $ref: PLACE + id } }
}
