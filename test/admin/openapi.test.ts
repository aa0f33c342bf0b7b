import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, expect, test } from 'vitest'
import { EndedSessions } from '../../src/admin/ended-sessions.ts'
import { routesOf } from '../../src/admin/listener.ts'
import { Login } from '../../src/admin/login.ts'
import { documentOfAdmin } from '../setup/admin-document.ts'
import { responseValidator } from '../setup/own-responses.ts'
import { type Running, startAdmin } from './running.ts'

const DRAIN = { isOn: () => false, turn: () => {} }

let running: Running
// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
let document: any
beforeAll(async () => {
  running = await startAdmin({ drain: DRAIN })
  document = (await running.call('GET', '/openapi.json', { headers: { authorization: '' } })).json
})

// biome-ignore lint/suspicious/noExplicitAny: as above
const operations = (): [string, any][] =>
  Object.entries(document.paths as object).flatMap(([path, item]) =>
    Object.entries(item as object).map(([method, operation]): [string, unknown] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )

const STRING = { type: 'string' }
const WORDS = { type: 'string', minLength: 5 }
const OBJECT = { type: 'object' }

/** An object that has the required members, perhaps the others, and no further ones. */
function closed(required: object, others: object = {}) {
  const properties = { ...required, ...others }
  return { type: 'object', required: Object.keys(required), properties, additionalProperties: false }
}

/** An object with a value of one form under each name. */
const mapOf = (names: object, value: object) => ({ type: 'object', propertyNames: names, additionalProperties: value })
const named = (pattern: string, value: object) => mapOf({ pattern }, value)

const CONTENT = { ...named('^[a-z]+/[a-z+-]+$', closed({}, { schema: OBJECT, examples: OBJECT })), minProperties: 1 }
const PARAMETER = {
  ...closed(
    { name: STRING, in: { enum: ['path', 'query', 'header'] }, schema: OBJECT, required: { type: 'boolean' } },
    { description: STRING, example: { type: ['string', 'integer'] } },
  ),
  if: { properties: { in: { const: 'path' } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { required: { const: true } } },
}
const RESPONSE = closed(
  { description: { type: 'string', minLength: 1 } },
  { content: CONTENT, headers: { type: 'object', additionalProperties: { type: 'object', required: ['schema'] } } },
)
const OPERATION = {
  ...closed(
    {
      operationId: { type: 'string', pattern: '^[a-z][A-Za-z]+$' },
      tags: { type: 'array', items: STRING, minItems: 1, maxItems: 1 },
      summary: WORDS,
      description: WORDS,
      responses: { ...named('^[1-5]\\d\\d$', RESPONSE), minProperties: 1 },
      security: { type: 'array', items: OBJECT },
    },
    {
      parameters: { type: 'array', items: PARAMETER },
      requestBody: closed({ content: CONTENT }, { required: { type: 'boolean' } }),
    },
  ),
  // Extensions begin so (OpenAPI 3.1, 4.9).
  patternProperties: { '^x-roles$': { type: 'array', items: STRING, minItems: 1 } },
}
/** What OpenAPI 3.1 demands of the parts that the document uses (specification 3.1.1, chapter 4.8). */
const OPENAPI_31 = closed(
  {
    openapi: { pattern: '^3\\.1\\.\\d+$' },
    info: closed(
      { title: STRING, version: STRING },
      { description: STRING, license: closed({ name: STRING }, { identifier: STRING }) },
    ),
    paths: named('^/', mapOf({ enum: ['get', 'put', 'post', 'delete', 'patch'] }, OPERATION)),
  },
  {
    servers: { type: 'array', items: { type: 'object', required: ['url'], properties: { url: STRING } } },
    webhooks: OBJECT,
    components: closed(
      {},
      {
        schemas: named('^[a-zA-Z0-9._-]+$', OBJECT),
        securitySchemes: {
          type: 'object',
          additionalProperties: {
            type: 'object',
            required: ['type'],
            properties: { type: { enum: ['http', 'apiKey'] } },
          },
        },
      },
    ),
  },
)

test('the OpenAPI document is one of version 3.1', () => {
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  const valid = ajv.validate(OPENAPI_31, document)
  expect(ajv.errors ?? []).toEqual([])
  expect(valid).toBe(true)
})

test('the OpenAPI document is one that the responses of every listener are held against', async () => {
  const bare = await startAdmin()
  const { paths, components } = (await bare.call('GET', '/openapi.json')).json
  await bare.stop()
  expect({ ...document, info: null }).toEqual({ ...(await documentOfAdmin()), info: null })
  const held = await documentOfAdmin(false)
  expect({ paths, components }).toEqual({ paths: held.paths, components: held.components })
})

test('the OpenAPI document has schemas that are JSON Schema of 2020-12, and all that they refer to', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true })
  ajv.addFormat('date-time', /./)
  ajv.addVocabulary(['openapi', 'info', 'servers', 'paths', 'webhooks', 'components'])
  ajv.addSchema(document, 'doc')
  for (const id of Object.keys(document.components.schemas))
    expect(typeof ajv.getSchema(`doc#/components/schemas/${id}`), id).toBe('function')
  for (const [, ref] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
    expect(document.components.schemas).toHaveProperty(ref ?? '')
})

test('the OpenAPI document names each operation once, and each parameter of its path', () => {
  const ids = operations().map(([, { operationId }]) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [name, { parameters = [] }] of operations()) {
    const inPath = parameters
      .filter((each: { in: string }) => each.in === 'path')
      .map((each: { name: string }) => each.name)
    expect(inPath, name).toEqual([...name.matchAll(/\{(\w+)\}/g)].map(([, param]) => param))
  }
})

test('the OpenAPI document says what a parameter of a query is if it is left out', () => {
  const of = (name: string) => operations().find(([each]) => each === name)?.[1].parameters ?? []
  for (const name of ['GET /api/users', 'GET /api/audit'])
    expect(of(name), name).toContainEqual({
      name: 'limit',
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
      description: 'Number of entries on a page.',
      example: 2,
    })
  expect(of('GET /api/audit').find(({ name }: { name: string }) => name === 'before').schema).not.toHaveProperty(
    'default',
  )
})

test('the OpenAPI document says what must be sent, what may be left out, and where a version can be named', () => {
  const of = (name: string) => operations().find(([each]) => each === name)?.[1]
  const needed = of('GET /api/explain').parameters.filter(({ required }: { required: boolean }) => required)
  expect(needed.map(({ name }: { name: string }) => name)).toEqual(['user', 'method', 'path'])
  expect(of('POST /api/tokens').requestBody.required).toBe(true)
  expect(of('DELETE /api/tokens/{id}').requestBody.required).toBe(false)
  const withVersion = operations().filter(([, { parameters = [] }]) =>
    parameters.some(({ name }: { name: string }) => name === 'If-Match'),
  )
  expect(withVersion.map(([name]) => name)).toEqual([
    'PATCH /api/quota',
    'DELETE /api/quota/scheduled/{id}',
    'PATCH /api/plans/{id}',
    'PUT /api/users/{id}/override',
    'DELETE /api/users/{id}/override',
    'PUT /api/overrides',
    'PUT /api/organisations/{id}/override',
    'DELETE /api/organisations/{id}/override',
  ])
})

test('the OpenAPI document says which responses a client need not get again, and which have a version as their tag', async () => {
  const seen = { bytes: [] as string[], version: [] as string[] }
  for (const [name, { responses }] of operations()) {
    const path = name.slice('GET '.length)
    if (!name.startsWith('GET /api/') || path.includes('{')) continue
    const { status, headers } = await running.call('GET', path)
    const { etag = null } = headers
    if (status !== 200 || etag === null) continue
    const again = await running.call('GET', path, { headers: { 'if-none-match': etag } })
    seen[etag.startsWith('W/') ? 'bytes' : 'version'].push(path)
    // What was made in between may have another time in it.
    if (again.headers.etag === etag) expect([path, again.status]).toEqual([path, responses[304] ? 304 : 200])
  }
  expect(seen.bytes).toEqual(expect.arrayContaining(['/api/routes', '/api/failures']))
  expect(seen.version).toEqual(['/api/quota', '/api/plans', '/api/overrides', '/api/in-force'])
  const withTag = operations().filter(([, { responses }]) => responses[304] !== undefined)
  expect(withTag.every(([name]) => name.startsWith('GET '))).toBe(true)
  for (const [name, { parameters = [] }] of operations()) {
    const has = parameters.some((each: { name: string }) => each.name === 'If-None-Match')
    expect(has, name).toBe(withTag.some(([each]) => each === name))
  }
})

test('the OpenAPI document has every route of the listener and no other', () => {
  const options = { ...fakeOptions(), drain: DRAIN }
  const routes = routesOf(
    options,
    new Login({ credentials: () => [], now: Date.now }),
    new EndedSessions(options.store, Date.now),
  )
  const listed = routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  expect(
    operations()
      .map(([name]) => name)
      .sort(),
  ).toEqual(listed.sort())
})

test('the OpenAPI document has the table of the contract', () => {
  expect(operations().map(([name]) => name)).toEqual(
    expect.arrayContaining([
      'GET /api/quota',
      'PATCH /api/quota',
      'DELETE /api/quota/scheduled/{id}',
      'POST /api/quota/preview',
      'POST /api/quota/reset',
      'GET /api/users',
      'GET /api/users/{id}',
      'PUT /api/users/{id}/override',
      'DELETE /api/users/{id}/override',
      'POST /api/users/{id}/reset',
      'GET /api/explain',
      'GET /api/failures',
      'GET /api/tokens',
      'POST /api/tokens',
      'DELETE /api/tokens/{id}',
      'GET /api/audit',
    ]),
  )
})

test('the OpenAPI document asks for a credential wherever the listener does', async () => {
  for (const [name, { security }] of operations()) {
    const [method = '', path = ''] = name.split(' ')
    const { status } = await running.call(method, path.replace('{id}', 'x'), { headers: { authorization: '' } })
    const needed = security.length > 0 && !security.some((way: object) => Object.keys(way).length === 0)
    expect(status === 401, name).toBe(needed)
  }
})

test('the OpenAPI document describes a body that is too large or no JSON, wherever one is read, and what any request may be refused for', async () => {
  const send = async (name: string, headers: Record<string, string>) => {
    const [method = '', path = ''] = name.split(' ')
    const reply = await running.call(method, path.replace('{id}', 'x'), { body: 'x'.repeat(70_000), headers })
    return reply.status
  }
  for (const [name, { responses }] of operations()) {
    const statuses = Object.keys(responses)
    expect(statuses, name).toEqual(expect.arrayContaining(['400', '408', '431', '500']))
    if (name.startsWith('GET ')) continue
    expect(statuses, name).toContain(String(await send(name, {})))
    expect(statuses, name).toContain(String(await send(name, { 'content-type': 'text/plain' })))
  }
})

test('the OpenAPI document would report a response that is not what it promises', () => {
  const validate = responseValidator(document)
  const reply = (json: unknown, status = 200) => ({
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    text: JSON.stringify(json),
  })
  const session = { name: 'admin', role: 'admin', expiresAt: null }
  expect(validate('GET', '/api/session', reply(session))).toBeNull()
  expect(validate('GET', '/api/session', reply({ ...session, role: 'root' }))).toContain('role')
  expect(validate('GET', '/api/session', reply({ ...session, more: 1 }))).toContain('additional')
  expect(validate('GET', '/api/session', reply({ ...session, expiresAt: 'soon' }))).toContain('date-time')
  expect(validate('GET', '/api/session', reply(session, 418))).toContain('418')
  const refused = (error: string) => validate('GET', '/api/session', reply({ error, msg: 'No.' }, 401))
  expect([refused('unauthorized'), refused('forbidden')]).toEqual([null, expect.stringContaining('forbidden')])
})

/** For the list of routes only: nothing is called. */
function fakeOptions(): Parameters<typeof routesOf>[0] {
  return { store: {}, metrics: {}, now: Date.now, version: '1' } as unknown as Parameters<typeof routesOf>[0]
}
