import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { tempFolder } from '../setup/at-end.ts'

let folder: string
beforeEach(() => {
  folder = tempFolder()
  writeFileSync(
    join(folder, 'tollgate.yaml'),
    'upstream: { url: http://127.0.0.1:9000 }\nreference:\n  path: /reference\n  openapi: api.json\n',
  )
})

const write = (text: string | Buffer) => writeFileSync(join(folder, 'api.json'), text)
const load = () => loadConfig(join(folder, 'tollgate.yaml'), {})

/** What is said of the document, without the names of files. */
async function problem(text: string | Buffer): Promise<string> {
  write(text)
  const loaded = await load()
  const told = loaded.ok ? 'nothing' : formatProblems(loaded.problems)
  return told.replace(join(folder, 'tollgate.yaml'), '').replace(`"${join(folder, 'api.json')}"`, 'FILE')
}

test.each([
  ['JSON', '{ "openapi": "3.1.0", "paths": {} }'],
  ['JSON behind a byte order mark', '\ufeff{ "openapi": "3.1.0", "paths": {} }'],
  ['YAML', 'openapi: 3.1.0\npaths: {}\n'],
])('the OpenAPI document of the configuration is understood as %s', async (_kind, text) => {
  write(text)
  const loaded = await load()
  expect(loaded.ok && loaded.config.reference?.document).toEqual({ openapi: '3.1.0', paths: {} })
})

test('the OpenAPI document of the configuration of YAML has its status codes as keys, and its lists and empty values in their places', async () => {
  write('openapi: 3.0.3\npaths: { /a: { get: { tags: [x], responses: { 200: { description: "" } }, summary: } } }')
  const loaded = await load()
  const get = { tags: ['x'], responses: { '200': { description: '' } }, summary: null }
  expect(loaded.ok && loaded.config.reference?.document?.paths).toEqual({ '/a': { get } })
})

test('the OpenAPI document of the configuration is read again with the configuration', async () => {
  write('{ "openapi": "3.1.0" }')
  await load()
  write('{ "openapi": "3.1.1" }')
  const loaded = await load()
  expect(loaded.ok && loaded.config.reference?.document?.openapi).toBe('3.1.1')
})

test.each([
  ['{"openapi":"3.1.0",}', 'line 1, column 20: is not valid JSON: check commas, quotes and brackets there'],
  [
    '{"openapi":"3.1.0",\n "a": [tru]\n}',
    'line 2, column 11: is not valid JSON: check commas, quotes and brackets there',
  ],
  ['{"openapi":"3.1.0"\n "a":1}', 'line 2, column 2: is not valid JSON: check commas, quotes and brackets there'],
  ['{"openapi":"3.1.0",\n "a": {', 'line 2, column 7: is not valid JSON: it ends too early: close what is open'],
  ['{"openapi":"3.1.0"}}', 'line 1, column 20: is not valid JSON: check commas, quotes and brackets there'],
  ['openapi: 3.1.0\na: {<<: b}', 'line 2, column 5: a merge keys (<<) are not supported: write the values out'],
  [
    'openapi: 3.1.0\na: "b',
    'line 2, column 4: the quote " is opened here and not closed: write a second " behind the value',
  ],
  ['', 'is empty: write an OpenAPI 3 document'],
  ['[]', 'is not an OpenAPI 3 document: it begins with openapi: "3.1.0", or another version 3'],
  ['{"openapi":3.1}', 'is not an OpenAPI 3 document: it begins with openapi: "3.1.0", or another version 3'],
  ['swagger: "2.0"', 'is of Swagger 2.0: convert it to OpenAPI 3'],
  ['{"openapi":"3.1.0","paths":[]}', 'has paths that are not a map: write paths: { /path: … }'],
])('the OpenAPI document of the configuration is refused with its place and the cure: %j', async (text, expected) => {
  expect(await problem(text)).toBe(`:4:12 reference.openapi: FILE ${expected}`)
})

test('the OpenAPI document of the configuration is refused if it is of another encoding, too large, missing, or no file', async () => {
  expect(await problem(Buffer.from([0x7b, 0xff]))).toContain('is not UTF-8: save it in that encoding')
  expect(await problem(' '.repeat((8 << 20) + 1))).toContain('is larger than 8 MiB: shorten it')
  expect(await problem(`a: ${'x'.repeat(1 << 20)}`)).toContain('is larger than 1 MiB: write it as JSON, or shorten it')
  rmSync(join(folder, 'api.json'))
  const missing = await load()
  expect(missing.ok || formatProblems(missing.problems)).toContain('cannot be read (ENOENT)')
})
