import { isObject } from '../lib/json.ts'
import { jsonFault } from '../lib/json-fault.ts'
import { formatPath, quote } from './problems.ts'
import { readText } from './text-file.ts'
import { parseTree, type Tree } from './tree.ts'
import type { Reading } from './units.ts'

/** An OpenAPI 3 document of others: nothing else of it is known. */
export type OpenapiDocument = { readonly openapi: string } & { readonly [key: string]: unknown }

/** Bytes. Reading YAML takes a hundred times as long as JSON, and holds everything else up. */
const DOCUMENT = { what: 'an OpenAPI document', most: 8 << 20, tooLarge: 'is larger than 8 MiB: shorten it' }
const MAX_YAML = 1 << 20

/** Reads an OpenAPI 3 document, JSON or YAML 1.2. Never rejects: what is wrong is a problem, with its place in that file. */
export async function readOpenapi(file: string): Promise<Reading<OpenapiDocument>> {
  const reading = await readText(file, DOCUMENT)
  const parsed = 'problem' in reading ? reading : parseText(reading.value)
  const checked = 'problem' in parsed ? parsed : checkDocument(parsed.value)
  return 'problem' in checked ? { problem: `${quote(file)} ${checked.problem}` } : checked
}

function parseText(text: string): Reading<unknown> {
  if (/^\s*[{[]/.test(text)) return parseJson(text)
  if (Buffer.byteLength(text) > MAX_YAML) return { problem: 'is larger than 1 MiB: write it as JSON, or shorten it' }
  return parseYaml(text)
}

function parseJson(text: string): Reading<unknown> {
  const problem = jsonFault(text)
  return problem === null ? { value: JSON.parse(text) } : { problem }
}

function parseYaml(text: string): Reading<unknown> {
  const { tree, findings } = parseTree(text)
  const [first] = findings
  if (first !== undefined) {
    const where = first.path.length === 0 || first.path[0] === 'yaml' ? '' : `${formatPath(first.path)} `
    return { problem: `line ${first.at?.line ?? 1}, column ${first.at?.column ?? 1}: ${where}${first.message}` }
  }
  return tree === null ? { problem: 'is empty: write an OpenAPI 3 document' } : { value: plain(tree) }
}

function plain(tree: Tree): unknown {
  if (tree.kind === 'scalar') return tree.value
  if (tree.kind === 'list') return tree.items.map(plain)
  return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, plain(value)]))
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
