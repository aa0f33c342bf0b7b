import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, expect, test } from 'vitest'
import { adminPage } from '../../build/reference/api.ts'
import { adminDocument } from '../../build/reference/documents.ts'
import { OF_LEADS } from '../../src/admin/permissions.ts'
import { EXAMPLES } from '../../src/contract/examples.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
let document: any
let ajv: Ajv2020
beforeAll(async () => {
  document = await adminDocument()
  ajv = validator(document)
})

function validator(document: object): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, coerceTypes: false })
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  return ajv.addSchema(document, 'doc')
}

// biome-ignore lint/suspicious/noExplicitAny: as above
const operations = (): [string, any, string][] =>
  Object.entries(document.paths as object).flatMap(([path, item]) =>
    Object.entries(item as object).map(([method, operation]): [string, unknown, string] => [
      `${method.toUpperCase()} ${path}`,
      operation,
      `/paths/${path.replaceAll('/', '~1')}/${method}`,
    ]),
  )

const encoded = (pointer: string): string => pointer.split('/').map(encodeURIComponent).join('/')

/** What is wrong with the example at this place of the document; `null` for nothing. */
function problemAt(pointer: string, content: { schema?: object; examples?: { usual: { value: unknown } } }) {
  if (content.schema === undefined || content.examples === undefined) return null
  const fits = ajv.getSchema(`doc#${encoded(`${pointer}/schema`)}`)
  if (fits === undefined) return 'no schema'
  return fits(content.examples.usual.value) ? null : ajv.errorsText(fits.errors)
}

test('the examples of the admin API are those of every route and of no other', () => {
  expect(Object.keys(EXAMPLES).sort()).toEqual(
    operations()
      .map(([name]) => name)
      .sort(),
  )
})

test('the examples of the admin API have a body wherever the document has one, for the request and for the response', () => {
  for (const [name, { requestBody, responses }] of operations()) {
    if (requestBody?.required) expect(JSON.stringify(requestBody), name).toContain('"usual"')
    const [, response] = Object.entries(responses as object).find(([status]) => Number(status) < 400) ?? []
    if (response.content !== undefined) expect(JSON.stringify(response), name).toContain('"usual"')
  }
})

test('the examples of the admin API satisfy the schemas of bodies and responses', () => {
  for (const [name, { requestBody, responses }, pointer] of operations()) {
    const json = 'application/json'
    const type = json.replace('/', '~1')
    const body = requestBody?.content[json] ?? {}
    expect(problemAt(`${pointer}/requestBody/content/${type}`, body), `${name}: request`).toBeNull()
    for (const [status, { content }] of Object.entries(responses as Record<string, { content?: object }>)) {
      const response = (content as Record<string, object> | undefined)?.[json] ?? {}
      const place = `${pointer}/responses/${status}/content/${type}`
      expect(problemAt(place, response), `${name}: ${status}`).toBeNull()
    }
  }
})

test('the examples of the admin API name every parameter of their path, and values of a query that the schema of the parameter takes', () => {
  for (const [name, { parameters = [] }] of operations()) {
    for (const { in: where, name: parameter, schema, example } of parameters) {
      if (where === 'path') expect(example, `${name}: ${parameter}`).toBeDefined()
      if (example === undefined) continue
      expect(new Ajv2020({ strict: false }).validate(schema, example), `${name}: ${parameter}`).toBe(true)
    }
    const known = parameters.map(({ name }: { name: string }) => name)
    expect(known, name).toEqual(expect.arrayContaining(Object.keys(EXAMPLES[name]?.parameters ?? {})))
  }
})

test('an example that does not satisfy its schema is found', () => {
  const place = '/paths/~1livez/get/responses/200/content/application~1json'
  const { schema } = document.paths['/livez'].get.responses[200].content['application/json']
  expect(problemAt(place, { schema, examples: { usual: { value: { live: 'yes' } } } })).toContain('must be boolean')
})

test('the reference lists each operation once, with the roles that the listener lets through', () => {
  const rows = adminPage(document).matchAll(/^\| \[([A-Z]+ \/\S*)\]\(#\S+\) \| [^|]+ \| ([a-z, ]+) \|$/gm)
  const listed = [...rows].map(([, name = '', roles = '']): [string, string] => [name, roles])
  expect(listed.map(([name]) => name).sort()).toEqual(
    operations()
      .map(([name]) => name)
      .sort(),
  )
  const rolesOf = Object.fromEntries(listed)
  const ofLeads = Object.entries(OF_LEADS).flatMap(([name, rule]) => (rule === 'operator' ? [] : [braced(name)]))
  expect(listed.flatMap(([name, roles]) => (roles.includes('lead') ? [name] : [])).sort()).toEqual(ofLeads.sort())
  expect(Object.keys(OF_LEADS).map((name) => [name, rolesOf[braced(name)] !== 'anybody'])).toEqual(
    Object.keys(OF_LEADS).map((name) => [name, true]),
  )
  expect([rolesOf['GET /api/quota'], rolesOf['PATCH /api/quota'], rolesOf['GET /livez']]).toEqual([
    'viewer, admin',
    'admin',
    'anybody',
  ])
})

const braced = (name: string): string => name.replace(/:(\w+)/g, '{$1}')
