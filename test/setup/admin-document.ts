import { adminDocument } from '../../build/reference/documents.ts'

let made: ReturnType<typeof adminDocument> | undefined
let withoutDrain: ReturnType<typeof adminDocument> | undefined

/**
 * The document of every admin listener, whatever its configuration (`test/admin/openapi.test.ts`), made once in a process.
 *
 * @param hasDrain what no process stops has none
 */
export function documentOfAdmin(hasDrain = true): ReturnType<typeof adminDocument> {
  made ??= adminDocument()
  withoutDrain ??= made.then(({ paths, ...rest }) => {
    const { '/drain': _, ...others } = paths as Record<string, object>
    return { ...rest, paths: others }
  })
  return hasDrain ? made : withoutDrain
}
