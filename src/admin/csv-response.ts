import { Readable } from 'node:stream'
import { csvRow } from '../lib/csv.ts'
import { attachment } from './attachment.ts'
import type { AdminResponse } from './http.ts'

type Cells = readonly (string | number)[]

/** A file of all lines, as fast as the client reads. If the store fails, the file breaks off. @param name without its ending */
export function csvResponse(name: string, head: Cells, lines: AsyncIterable<Cells>): AdminResponse {
  async function* pieces(): AsyncGenerator<string> {
    yield `${csvRow(head)}\r\n`
    for await (const line of lines) yield `${csvRow(line)}\r\n`
  }
  return {
    status: 200,
    body: Readable.from(pieces(), { objectMode: false }),
    contentType: 'text/csv; charset=utf-8',
    headers: attachment(name, 'csv'),
  }
}
