import { adminDocument, type Document } from '../../build/reference/documents.ts'

let made: Promise<Document> | undefined

/**
 * The document of every admin listener, whatever its configuration (`test/admin/openapi.test.ts`), made once in a process.
 *
 * @param hasDrain what no process stops has none
 */
export function documentOfAdmin(hasDrain = true): Promise<Document> {
  made ??= adminDocument()
  withoutDrain ??= made.then(({ paths: { '/drain': _, ...paths }, ...rest }) => ({ ...rest, paths }))
  return hasDrain ? made : withoutDrain
}
let withoutDrain: Promise<Document> | undefined
