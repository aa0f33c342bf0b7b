import { isObject } from '../lib/json.ts'
import { hashText } from './hash.ts'
import { parseData } from './plain-data.ts'
import { quote } from './problems.ts'
import { readText } from './text-file.ts'
import type { Reading } from './units.ts'

/** An OpenAPI 3 document of another service. Only its version was checked, and that `paths` is a map if it exists. */
export type OpenapiDocument = { readonly openapi: string } & { readonly [key: string]: unknown }

const DOCUMENT = { what: 'an OpenAPI document', most: 8 << 20, tooLarge: 'is larger than 8 MiB: shorten it' }

interface ReadDocument {
  readonly document: OpenapiDocument
  /** Of its text. */
  readonly hash: string
}

/** Reads an OpenAPI 3 document in JSON or YAML 1.2. Never rejects: an error is a problem with its place in that file. */
export async function readOpenapi(file: string): Promise<Reading<ReadDocument>> {
  const reading = await readText(file, DOCUMENT)
  const read = 'problem' in reading ? reading : documentIn(reading.value)
  return 'problem' in read ? { problem: `${quote(file)} ${read.problem}` } : read
}

function documentIn(text: string): Reading<ReadDocument> {
  const parsed = parseData(text, 'an OpenAPI 3 document')
  const checked = 'problem' in parsed ? parsed : checkDocument(parsed.value)
  return 'problem' in checked ? checked : { value: { document: checked.value, hash: hashText(text) } }
}

function checkDocument(value: unknown): Reading<OpenapiDocument> {
  const document = isObject(value) ? value : {}
  const { openapi, swagger, paths } = document
  if (swagger !== undefined) return { problem: 'is of Swagger 2.0: convert it to OpenAPI 3' }
  if (typeof openapi !== 'string' || !/^3\.\d+\.\d+/.test(openapi)) {
    return { problem: 'is not an OpenAPI 3 document: it begins with openapi: "3.1.0", or another version 3' }
  }
  if (paths !== undefined && !isObject(paths))
    return { problem: 'has paths that are not a map: write paths: { /path: … }' }
  return { value: { ...document, openapi } }
}
