import type { FastifyInstance } from 'fastify'
import type { OverrideFormat } from '../control/override-file.ts'
import { refusal } from './http.ts'
import { CodedBody, isCoded } from './json-body.ts'

/** Bodies that are files of lines. */

export const LINE_TYPES: Readonly<Record<OverrideFormat, string>> = { ndjson: 'application/x-ndjson', csv: 'text/csv' }

export const NOT_LINES = refusal(
  'unsupported_media_type',
  `Send the file as it is, with "Content-Type: ${LINE_TYPES.ndjson}" or "${LINE_TYPES.csv}".`,
)

/** The format that a Content-Type header names; `null` for another type, or another character set than UTF-8. */
export function formatOf(type: string): OverrideFormat | null {
  const [, name = ''] = /^\s*([\w/+-]+)\s*(?:;\s*charset="?utf-?8"?\s*)?$/i.exec(type) ?? []
  if (name.toLowerCase() === LINE_TYPES.csv) return 'csv'
  return name.toLowerCase() === LINE_TYPES.ndjson ? 'ndjson' : null
}

/** Reads every body as bytes. The listener has checked its type. @param app a separate context, so that other routes still accept JSON */
export function readLineBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, ({ headers }, bytes, done) => {
    if (isCoded(headers)) done(new CodedBody())
    else done(null, bytes)
  })
}
