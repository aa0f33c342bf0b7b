import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import type { OpenapiDocument } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/load.ts'
import { gatewayDocument } from '../../src/reference/document.ts'
import { understood, yaml } from '../e2e/harness.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
type Any = any

const QUOTA = 'quota: { baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 10 } } } }'
const BACKEND = 'http://score.internal:9000'
const OK = { responses: { 200: { description: 'ok' } } }

interface Case {
  readonly routes: readonly string[]
  readonly paths?: object
  /** More members of the document. */
  readonly more?: object
  readonly unmatched?: string
}

function made({ routes, paths, more = {}, unmatched = 'refuse' }: Case): Any {
  const rules = routes.map((match) => `{ match: "${match}", category: read, cost: 4 }`)
  const rest = `${QUOTA}\nroutes: [${rules}]\nunmatched: ${unmatched}`
  return documentOf(rest, paths && { openapi: '3.1.0', paths, ...more })
}

/** @param auth more lines of `auth` */
function documentOf(rest: string, document: OpenapiDocument | object = null as never, auth = ''): Any {
  const upstream = 'headers: { X-Backend-Secret: very-secret }'
  const text = yaml(BACKEND, rest, 'sqlite::memory:', upstream)
  const { config } = understood(text.replace('\n  gateway_tokens: true', `\n  gateway_tokens: true\n  ${auth}`))
  return gatewayDocument({ config, path: '/reference', upstream: document as OpenapiDocument })
}

const operations = (document: Any): string[] =>
  Object.entries<object>(document.paths)
    .flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`))
    .filter((operation) => !/\/(?:quota|usage)$/.test(operation))

describe('the operations of the upstream', () => {
  const item = { get: OK, post: OK }

  test.each<[string, Case, string[]]>([
    ['of a literal path', { routes: ['GET /a'], paths: { '/a': item, '/b': item } }, ['GET /a']],
    ['of a parameter of another name', { routes: ['GET /a/:x'], paths: { '/a/{id}': item } }, ['GET /a/{id}']],
    [
      'below a *',
      { routes: ['* /a/*'], paths: { '/a/{id}/b': item, '/b': item } },
      ['GET /a/{id}/b', 'POST /a/{id}/b'],
    ],
    [
      'of a literal where the rule has a parameter',
      { routes: ['GET /a/:x'], paths: { '/a/new': item } },
      ['GET /a/new'],
    ],
    [
      'of a parameter where rules name some of its values',
      { routes: ['POST /user/data', 'POST /user/music'], paths: { '/user/{what}': item } },
      ['POST /user/data', 'POST /user/music'],
    ],
    [
      'of a parameter, and its values that have rules of their own',
      { routes: ['POST /user/:what', 'POST /user/music'], paths: { '/user/{what}': item } },
      ['POST /user/{what}', 'POST /user/music'],
    ],
    [
      'of a parameter that is a part of a segment',
      { routes: ['GET /a/b.json'], paths: { '/a/{x}.json': item } },
      ['GET /a/b.json'],
    ],
    ['in whatever spelling of a path', { routes: ['GET /caf%c3%a9'], paths: { '/café': item } }, ['GET /caf%C3%A9']],
    ['HEAD as GET', { routes: ['GET /a'], paths: { '/a': { head: OK, options: OK } } }, ['HEAD /a', 'GET /a']],
    [
      'OPTIONS where a rule has it',
      { routes: ['OPTIONS /a'], paths: { '/a': { options: OK, get: OK } } },
      ['OPTIONS /a'],
    ],
    [
      'that match no rule and are forwarded',
      { routes: [], paths: { '/a': item }, unmatched: 'forward' },
      ['GET /a', 'POST /a'],
    ],
    [
      'of other methods of a path where all that is unmatched is charged',
      { routes: ['GET /a'], paths: { '/a': item }, unmatched: '{ category: read, cost: 9 }' },
      ['GET /a', 'POST /a'],
    ],
    [
      'but for those that the gateway answers',
      { routes: ['GET /*'], paths: { '/me/quota': item, '/reference': item, '/reference/x': item, '/b': item } },
      ['GET /b'],
    ],
  ])('the operations of the upstream are shown where the route map lets them through: %s', (_what, given, expected) => {
    expect(operations(made(given))).toEqual(expected)
  })

  test.each<[string, object]>([
    ['its address', { url: `${BACKEND}/v2/` }],
    ['the default of a variable', { url: '/{version}', variables: { version: { default: 'v2' } } }],
  ])('the operations of the upstream are behind the path of the server, as %s says', (_how, server) => {
    const paths = { '/a': { get: { ...OK, summary: 'Known' } } }
    const document = made({ routes: ['GET /v2/a', 'GET /a'], paths, more: { servers: [server] } })
    expect([document.paths['/v2/a'].get.summary, document.paths['/a'].get.summary]).toEqual(['Known', 'GET /a'])
  })

  test('the operations of the upstream have the price of the rule that a request would meet', () => {
    const rest = `${QUOTA}
routes:
  - { match: POST /user/:what, category: read, cost: 2 }
  - { match: POST /user/music, category: read, cost: 4 }
  - { match: POST /buy, category: read, cost: { body: [id, chargeId], values: { 2: 10, 3: 1 } } }
  - { match: GET /free, category: read, cost: 0 }
  - { match: GET /open, public: true }`
    const paths = { '/user/{what}': { post: OK }, '/buy': { post: OK }, '/free': { get: OK }, '/open': { get: OK } }
    const document = documentOf(rest, { openapi: '3.1.0', paths })
    const told = (path: string, method: string) => {
      const { description, security, responses, 'x-tollgate': extension } = document.paths[path][method]
      return { description, security: security.length, statuses: Object.keys(responses).join(' '), extension }
    }
    expect(told('/user/{what}', 'post')).toEqual({
      description: '**Quota:** category `read`, costs 2 tokens.',
      security: 1,
      statuses: '200 400 401 408 413 414 417 429 431 500 502 503 504 505',
      extension: { match: 'POST /user/:what', category: 'read', cost: 2 },
    })
    expect(told('/user/music', 'post').extension.cost).toBe(4)
    expect(told('/buy', 'post')).toEqual({
      description: '**Quota:** category `read`, costs by body id or chargeId: 2 10, 3 1.',
      security: 1,
      statuses: '200 400 401 408 413 414 417 429 431 500 502 503 504 505',
      extension: {
        match: 'POST /buy',
        category: 'read',
        cost: { body: ['id', 'chargeId'], values: { 2: 10, 3: 1 } },
      },
    })
    expect(told('/free', 'get')).toMatchObject({
      security: 1,
      statuses: '200 400 401 408 413 414 417 429 431 500 502 503 504 505',
    })
    expect(told('/open', 'get')).toEqual({
      description: '**Quota:** public, so it asks for no credential and costs nothing.',
      security: 0,
      statuses: '200 400 408 413 414 417 429 431 500 502 503 504 505',
      extension: { match: 'GET /open', public: true },
    })
  })

  test('the operations of the upstream that fix a parameter lose it, and keep the others of the path', () => {
    const parameter = (name: string) => ({ name, in: 'path', required: true, schema: { type: 'string' } })
    const paths = {
      '/user/{what}/{id}': { parameters: [parameter('what'), parameter('id')], get: { ...OK, operationId: 'u' } },
    }
    const document = made({ routes: ['GET /user/data/:id', 'GET /user/:x/:y'], paths })
    expect(document.paths['/user/{what}/{id}'].get.parameters.map(({ name }: Any) => name)).toEqual(['what', 'id'])
    expect(document.paths['/user/data/{id}'].get.parameters.map(({ name }: Any) => name)).toEqual(['id'])
    expect(document.paths['/user/{what}/{id}'].get.operationId).toBe('u')
    expect(document.paths['/user/data/{id}'].get.operationId).toBe('u_2')
  })

  test('the operations of the upstream that answer 401 or 429 themselves may do either', () => {
    const theirs = {
      description: 'No.',
      content: { 'application/json': { schema: { type: 'string' } }, 'text/html': {} },
    }
    const paths = { '/a': { get: { responses: { 401: { $ref: '#/components/responses/No' } } } } }
    const { responses } = made({ routes: ['GET /a'], paths, more: { components: { responses: { No: theirs } } } })
      .paths['/a'].get
    expect(responses['401'].description).toBe(
      'The credential is missing or not valid. `error` is `unauthorized`. Or, of the service: No.',
    )
    expect(responses['401'].content).toMatchObject({ 'text/html': {} })
    expect(responses['401'].content['application/json'].schema.anyOf).toHaveLength(2)
    expect(responses['429']).toEqual({ $ref: '#/components/responses/TollgateTooManyRequests' })
  })

  test('the operations of the upstream that tell of a class of answers, or of all others, may do either too', () => {
    const own = { 404: { description: 'None.' }, '4XX': { description: 'Yours.' }, default: { description: 'Any.' } }
    const { responses } = made({ routes: ['GET /a'], paths: { '/a': { get: { responses: own } } } }).paths['/a'].get
    expect(responses).toMatchObject(own)
    expect(responses['413'].description).toMatch(/Or, of the service: Yours\.$/)
    expect(responses['502'].description).toMatch(/Or, of the service: Any\.$/)
  })
})

describe('rules that describe nothing known', () => {
  test('rules that describe nothing known are shown with what the map knows of them', () => {
    const document = made({ routes: ['GET|POST /a/:id', '* /files/*', 'PROPFIND /dav', 'GET /x/:rest/*'] })
    expect(operations(document)).toEqual([
      'GET /a/{id}',
      'POST /a/{id}',
      ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /files/{rest}`),
      'GET /x/{rest}/{_rest}',
    ])
    expect(document.paths['/a/{id}'].get).toMatchObject({
      summary: 'GET|POST /a/:id',
      parameters: [{ name: 'id', in: 'path', required: true }],
      description: '**Quota:** category `read`, costs 4 tokens.',
    })
    expect(document.paths['/files/{rest}'].put.requestBody.content).toEqual({ 'application/json': { schema: {} } })
  })

  test('rules that describe nothing known are not repeated where operations are known, and share the path of those that differ in a name only', () => {
    const document = made({
      routes: ['GET /a/:id', 'POST /a/:id', '* /b/*'],
      paths: { '/a/{x}': { get: OK }, '/b/c': { get: OK } },
    })
    expect(operations(document)).toEqual(['GET /a/{x}', 'POST /a/{x}', 'GET /b/c'])
    expect(document.paths['/a/{x}'].post.parameters).toMatchObject([{ name: 'x' }])
  })

  test('rules that describe nothing known whose response decides the cost say so', () => {
    const rest = `${QUOTA}\nroutes: [{ match: POST /a, category: read, cost: 9, settle: { status: { 4xx: 1 } } }]`
    const { description } = documentOf(rest).paths['/a'].post
    expect(description).toBe(
      '**Quota:** category `read`, costs 9 tokens. That is reserved: what it costs is known by its response, and `X-Tollgate-Charged` has it if that is known when the response begins.',
    )
  })

  test.each([
    [
      '{ size: response, per: 1MiB, max: 500 }',
      'Each 1MiB of the response that is begun costs 1 token, at most 500 tokens.',
    ],
    [
      '{ json: usage, sum: { in: 0.1, out: 4 }, max: 500 }',
      'It costs 0.1 x `in` + 4 x `out` of the response, at most 500 tokens.',
    ],
  ])('rules whose cost is settled by %s say what is counted', (settle, text) => {
    const rest = `${QUOTA}\nroutes: [{ match: POST /a, category: read, cost: 9, settle: ${settle} }]`
    const { description } = documentOf(rest).paths['/a'].post
    expect(description.endsWith(`when the response begins. ${text}`)).toBe(true)
  })

  test('rules that describe nothing known whose repetitions cost nothing say so, and what a key of another request gets', () => {
    const rest = `${QUOTA}\nroutes: [{ match: POST /a, category: read, idempotency: {} }, { match: POST /b, category: read }]`
    const [one, other] = ['/a', '/b'].map((path) => documentOf(rest).paths[path].post)
    expect(one.description).toBe(
      '**Quota:** category `read`, costs 1 token. If it comes again with the same `Idempotency-Key` and body within 1d, that costs nothing, 5 times.',
    )
    expect([one, other].map(({ responses }) => '422' in responses)).toEqual([true, false])
  })

  test('priced by the body have an example that can be sent', () => {
    const rest = `${QUOTA}\nroutes: [{ match: POST /buy, category: read, cost: { body: id, values: { 2: 10, x: 3 } } }]`
    expect(documentOf(rest).paths['/buy'].post.requestBody.content['application/json']).toEqual({
      schema: { type: 'object', properties: { id: { examples: [2, 'x'] } } },
      example: { id: 2 },
    })
  })
})

test('a property or a schema that is called like a member with a value has the words of 3.1 too', () => {
  const text = { type: 'string', nullable: true }
  const names = ['value', 'default', 'example', 'enum', 'nullable']
  const named = Object.fromEntries(names.map((name) => [name, text]))
  const properties = { ...named, other: { $ref: '#/components/schemas/value' } }
  const content = { 'application/json': { schema: { type: 'object', properties } } }
  const paths = { '/a': { post: { responses: { default: { description: 'ok', content } } } } }
  const upstream = { openapi: '3.0.3', paths, components: { schemas: { value: text } } }
  const document = documentOf(`${QUOTA}\nroutes: [{ match: POST /a, category: read }]`, upstream)
  const { other, ...converted } =
    document.paths['/a'].post.responses.default.content['application/json'].schema.properties
  expect(Object.values(converted)).toEqual(names.map(() => ({ type: ['string', 'null'] })))
  expect(document.components.schemas.value).toEqual({ type: ['string', 'null'] })
})

test('extensions are shown at no depth, and names and values that begin like an extension stay', () => {
  const hidden = { 'x-internal': 'http://score.internal' }
  const value = { 'x-kept': 1 }
  const schema = {
    ...hidden,
    type: 'object',
    properties: { 'x-kept': { ...hidden, type: 'string' } },
    items: { ...hidden, default: value, enum: [value], const: value, example: value, examples: [value] },
    discriminator: { ...hidden, propertyName: 'a', mapping: { 'x-kept': '#/components/schemas/x-kept' } },
  }
  const response = {
    ...hidden,
    description: 'ok',
    headers: { 'x-kept': { ...hidden, schema: { ...hidden, type: 'string' } } },
    content: { 'x-kept/json': { ...hidden, schema, examples: { 'x-kept': { ...hidden, value } } } },
  }
  const operation = {
    ...hidden,
    parameters: [{ ...hidden, name: 'x-kept', in: 'header', schema: { ...hidden, type: 'string' } }],
    requestBody: {
      ...hidden,
      content: { 'application/json': { ...hidden, schema: { $ref: '#/components/schemas/x-kept' } } },
    },
    responses: { ...hidden, 200: response, 404: { $ref: '#/components/responses/x-kept' } },
    callbacks: { 'x-kept': { ...hidden, '{$url}': { ...hidden, post: { ...hidden, responses: {} } } } },
    externalDocs: { ...hidden, url: 'https://docs.test' },
  }
  const components = { ...hidden, schemas: { 'x-kept': schema }, responses: { 'x-kept': response } }
  const document = made({ routes: ['POST /a'], paths: { '/a': { post: operation } }, more: { components } })
  const text = JSON.stringify(document)
  expect(text).not.toContain('x-internal')
  const kept = (of: unknown) => JSON.stringify(of).split('x-kept').length - 1
  const { post } = document.paths['/a']
  expect(kept([post.parameters, post.requestBody, post.responses[200], post.callbacks])).toBe(
    kept([operation.parameters, operation.requestBody, response, operation.callbacks]),
  )
  expect(kept([document.components.schemas, document.components.responses])).toBe(kept(components))
})

describe('what is between the gateway and the upstream', () => {
  const canary = 'http://score.internal'
  const server = { url: `${canary}:9000/secret` }
  const paths = {
    '/a': {
      servers: [server],
      'x-backend': server.url,
      parameters: [
        { name: 'X-BACKEND-Secret', in: 'header' },
        { name: 'X-Mine', in: 'header' },
      ],
      get: {
        servers: [server],
        security: [{ upstream: [] }],
        'x-amazon-apigateway-integration': { uri: server.url },
        parameters: [{ $ref: '#/components/parameters/User' }, { name: 'Authorization', in: 'header' }],
        responses: {
          200: { description: 'ok', links: { next: { operationId: 'x', server } } },
          401: { description: 'No', links: { next: { server } } },
        },
        callbacks: {
          done: {
            '{$request.body#/url}': {
              servers: [server],
              post: { ...OK, servers: [server], security: [{ upstream: [] }] },
            },
          },
        },
      },
    },
  }
  const more = {
    servers: [{ url: `${canary}:9000` }],
    'x-google-backend': { address: canary },
    info: { title: 'Scores', version: '3', description: 'Of players.', 'x-origin': canary },
    components: {
      parameters: { User: { name: 'X-Tollgate-User', in: 'header' } },
      securitySchemes: { upstream: { type: 'apiKey', in: 'header', name: 'X-Backend-Secret' } },
      schemas: { Unused: { description: canary } },
    },
  }

  test('what is between the gateway and the upstream is not told: addresses, headers, security, extensions', () => {
    const document = made({ routes: ['GET /a'], paths, more })
    const text = JSON.stringify(document).toLowerCase()
    for (const word of ['score.internal', 'very-secret', 'x-backend-secret', 'x-tollgate-user', '"backend"']) {
      expect(text).not.toContain(word)
    }
    expect(document.servers).toEqual([{ url: '/' }])
    expect(document.paths['/a'].get.parameters).toEqual([{ name: 'X-Mine', in: 'header' }])
    expect(document.paths['/a'].get.callbacks.done['{$request.body#/url}'].post.responses).toEqual(OK.responses)
    expect(document.info).toMatchObject({
      title: 'Scores',
      version: '3',
      description: expect.stringMatching(/^Of players\.\n\n/),
    })
    expect(document.components.securitySchemes).toMatchObject({ bearer: { type: 'http', scheme: 'bearer' } })
  })
})

describe('how a client says who it is', () => {
  const from =
    '[bearer, { header: X-API-Key }, { header: Authorization, scheme: Token }, { cookie: session }, { query: access_token }, { websocket_protocol: key }]'
  const RULES = `routes:
  - { match: GET /a, category: read }
  - { match: GET /named, category: read, anonymous: false }
  - { match: GET /open, public: true }`

  test('how a client says who it is is a scheme for each place that has one', () => {
    const document = documentOf(`${QUOTA}\n${RULES}`, undefined, `from: ${from}\n  unverified_keys: { header: X-Key }`)
    expect(document.components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer', description: TOKEN },
      'header.X-API-Key': { type: 'apiKey', in: 'header', name: 'X-API-Key', description: TOKEN },
      Token: { type: 'http', scheme: 'Token', description: TOKEN },
      'cookie.session': { type: 'apiKey', in: 'cookie', name: 'session', description: TOKEN },
      'query.access_token': { type: 'apiKey', in: 'query', name: 'access_token', description: TOKEN },
      'header.X-Key': { type: 'apiKey', in: 'header', name: 'X-Key', description: 'A key of the service.' },
    })
    const names = Object.keys(document.components.securitySchemes)
    expect(document.paths['/a'].get.security).toEqual(names.map((name) => ({ [name]: [] })))
    expect(document.paths['/open'].get.security).toEqual([])
  })

  test('how a client says who it is need not be said where callers without a credential are let in', () => {
    const document = documentOf(`${QUOTA}\n${RULES}`, undefined, 'anonymous: { by: address }')
    expect(document.paths['/a'].get.security).toEqual([{ bearer: [] }, {}])
    expect(document.paths['/named'].get.security).toEqual([{ bearer: [] }])
    expect(document.paths['/me/quota'].get.security).toEqual([{ bearer: [] }, {}])
  })

  test('how a client says who it is is no parameter of an operation: what the gateway reads it takes away', () => {
    const parameters = [
      { name: 'x-api-key', in: 'header' },
      { name: 'access_token', in: 'query' },
      { name: 'session', in: 'cookie' },
      { name: 'session', in: 'query' },
    ]
    const paths = { '/a': { get: { ...OK, parameters } } }
    const document = documentOf(`${QUOTA}\n${RULES}`, { openapi: '3.1.0', paths }, `from: ${from}`)
    expect(document.paths['/a'].get.parameters).toEqual([{ name: 'session', in: 'query' }])
  })
})

const TOKEN = 'A JWT or an access key (`gw_…`). Whoever runs this service has one for you.'

describe('references', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const response = (schema: object) => ({
    responses: { 200: { description: 'ok', content: { 'application/json': { schema } } } },
  })

  test('references are kept with all that they lead to, and the schemas of operations that are left out are not', () => {
    const schemas = {
      Player: { properties: { friends: { items: ref('Player') }, pet: ref('Pet'), odd: ref('a~1b%20c') } },
      Pet: {
        oneOf: [],
        discriminator: { propertyName: 'kind', mapping: { cat: 'Cat', dog: '#/components/schemas/Dog' } },
      },
      Cat: {},
      Dog: {},
      'a/b c': {},
      Wiped: { properties: { by: ref('Admin') } },
      Admin: {},
    }
    const paths = { '/a': { get: response(ref('Player')) }, '/admin/wipe': { post: response(ref('Wiped')) } }
    const document = made({ routes: ['GET /a'], paths, more: { components: { schemas } } })
    const known = Object.keys(document.components.schemas).filter((name) => !name.startsWith('Tollgate'))
    expect(known.sort()).toEqual(['Cat', 'Dog', 'Pet', 'Player', 'a/b c'])
    expect(document.paths['/a'].get.responses['200'].content['application/json'].schema).toEqual(ref('Player'))
  })

  test('references of a path are followed', () => {
    const components = { pathItems: { A: { get: OK } } }
    expect(
      operations(
        made({ routes: ['GET /a'], paths: { '/a': { $ref: '#/components/pathItems/A' } }, more: { components } }),
      ),
    ).toEqual(['GET /a'])
  })

  test('all lead somewhere', () => {
    const document = made({ routes: ['GET /a', 'POST /b'], paths: { '/a': { get: OK } } })
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)]
    expect(refs.length).toBeGreaterThan(5)
    for (const [, kind = '', name = ''] of refs) expect(document.components[kind]).toHaveProperty(name)
  })
})

describe('the group of an operation', () => {
  const tagsIn = (more: object) => {
    const paths = { '/a': { get: OK }, '/b': { get: { ...OK, tags: ['Own'] } }, '/c': { get: { ...OK, tags: [] } } }
    const document = made({ routes: ['GET /:x', 'GET /d/:x'], paths, more })
    return Object.values<Any>(document.paths).map(({ get }) => get.tags)
  }

  test('the group of an operation is what the service says, or else the title of the service: none stands under "default"', () => {
    const rest = [['Other routes'], ['Quota'], ['Quota'], ['Quota']]
    expect(tagsIn({ info: { title: 'Songs' } })).toEqual([['Songs'], ['Own'], ['Songs'], ...rest])
    expect(tagsIn({})).toEqual([['Service'], ['Own'], ['Service'], ...rest])
  })
})

test('the bundled score service behind the demo configuration has an example of each request and each success, and each operation in a group', () => {
  const text = readFileSync(new URL('../../config/demo.yaml', import.meta.url), 'utf8')
  const backend = JSON.parse(readFileSync(new URL('../../config/score/openapi.json', import.meta.url), 'utf8'))
  const env = { TOLLGATE_UPSTREAM: BACKEND, TOLLGATE_STORE: 'sqlite::memory:', SCORE_BACKEND_SECRET: 'x'.repeat(20) }
  const more = {
    TOLLGATE_JWT_SECRET: 'x'.repeat(32),
    TOLLGATE_ADMIN_TOKEN: 'test-admin-token-0001',
    SYNC_URL: BACKEND,
    CHART_URL: BACKEND,
  }
  const loaded = parseConfig(text, 'config/demo.yaml', { ...env, ...more })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const document: Any = gatewayDocument({ config: loaded.config, path: '/reference', upstream: backend })
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } })
  ajv.addSchema(document, 'document')
  const all = Object.entries<Any>(document.paths).flatMap(([path, item]) =>
    Object.values<Any>(item).map((one) => [path, one]),
  )
  expect(all.length).toBeGreaterThan(15)
  for (const [path, { tags, requestBody, responses }] of all) {
    expect(tags, path).toHaveLength(1)
    for (const content of [requestBody?.content, responses['200']?.content].filter(Boolean)) {
      expect(content['application/json'], path).toHaveProperty('example')
    }
  }
  // A generator of clients makes a method of each.
  const ids = ['/me/quota', '/quota', '/me/usage', '/quota/prices', '/usage/failure-rate'].map(
    (path) => document.paths[path].get.operationId,
  )
  expect(ids).toEqual(['getMyQuota', 'getQuota', 'getMyUsage', 'getPrices', 'getFailureRate'])
  const { schema, example } = document.paths['/me/quota'].get.responses['200'].content['application/json']
  expect(ajv.validate({ $ref: `document${schema.$ref}` }, example), ajv.errorsText()).toBe(true)
  const charge = document.paths['/v1/charge'].post.requestBody.content['application/json'].schema
  expect(charge.oneOf).toEqual([{ required: ['chargeId'] }, { required: ['charge'] }])
})

test.each([
  ['of seconds', '{ 3s: 1, 1h: 5 }', '{ 3s: 3s, 1h: 1h }'],
  ['of a limit of 0', '{ 1h: 0 }', '{ 1h: 1h }'],
  ['of a calendar', '{ month: 100 }', '{ month: { calendar: month, zone: Asia/Shanghai } }'],
])('the examples of the gateway are what it responds under its own limits, in windows %s', (_what, limits, windows) => {
  const quota = `quota: { windows: ${windows}, baselines: { personal: { read: ${limits} } } }`
  const document = documentOf(`${quota}\nroutes: [{ match: GET /a, category: read, cost: 4 }]`)
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } }).addSchema(document, 'document')
  const { content } = document.components.responses.TollgateTooManyRequests
  for (const type of ['application/json', 'application/problem+json']) {
    const validate = ajv.getSchema(
      `document#/components/responses/TollgateTooManyRequests/content/${type.replace('/', '~1').replace('+', '%2B')}/schema`,
    )
    expect([validate?.(content[type].example), validate?.errors]).toEqual([true, null])
    expect(content[type].example.quota).toMatchObject({ category: 'read', requested: 4 })
  }
})

test.each<[string, object]>([
  ['no paths', {}],
  ['paths of null and text', { paths: { '/a': null, '/b': 'x', c: { get: OK }, '/d': { get: 'x', post: [] } } }],
  ['a circle of references', { paths: { '/a': { $ref: '#/paths/~1b' }, '/b': { $ref: '#/paths/~1a' } } }],
  [
    'references to nothing',
    {
      paths: {
        '/a': { $ref: 'other.json#/x' },
        '/b': { get: { parameters: [{ $ref: '#/x/y' }, null, 7], responses: 'x', tags: 'x' } },
      },
    },
  ],
  ['members of other types', { info: 'x', servers: 'x', tags: 'x', components: [], paths: {} }],
  ['servers of other types', { servers: [{ url: 7 }, null], paths: {} }],
  ['a server that is no address', { servers: [{ url: 'http://[' }], paths: {} }],
  [
    'names of the prototype',
    JSON.parse(
      '{"paths":{"/a":{"get":{"responses":{"__proto__":{"x":1}}}}},"components":{"schemas":{"__proto__":{}},"__proto__":{}}}',
    ),
  ],
])('a document of an odd shape is taken for what it is: %s', (_what, document) => {
  const made = documentOf(`${QUOTA}\nroutes: [{ match: "* /*", category: read }]`, { openapi: '3.1.0', ...document })
  expect(made.openapi).toBe('3.1.1')
  expect(made.info).toMatchObject({ title: 'Gateway', version: '1' })
  expect(made.paths['/me/quota'].get.summary).toBe('How much of your quota is left')
  expect({}).not.toHaveProperty('x')
})

test('a document of an odd shape of version 3.0 has its schemas in the words of 3.1', () => {
  const schema = { type: 'string', nullable: true, enum: ['a'], example: { nullable: true } }
  const bounds = { type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false }
  const paths = {
    '/a': {
      post: {
        requestBody: { content: { 'application/json': { schema: { properties: { schema, bounds } } } } },
        ...OK,
      },
    },
  }
  const document = documentOf(`${QUOTA}\nroutes: [{ match: POST /a, category: read }]`, { openapi: '3.0.3', paths })
  expect(document.paths['/a'].post.requestBody.content['application/json'].schema.properties).toEqual({
    schema: { type: ['string', 'null'], enum: ['a', null], example: { nullable: true } },
    bounds: { type: 'integer', exclusiveMinimum: 0, maximum: 5 },
  })
})
