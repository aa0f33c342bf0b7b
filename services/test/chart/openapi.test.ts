import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { describeApi } from '../../chart/openapi.ts'
import { ROUTES } from '../../chart/routes.ts'
import { golden, startCharts } from './harness.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
const document = JSON.parse(JSON.stringify(describeApi())) as any

interface Shown {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly example?: unknown
}

const schemaOf = (path: string, method: string, status: number) =>
  document.paths[path][method].responses[status].content['application/json'].schema

describe('the OpenAPI document of chart', () => {
  it('the OpenAPI document of chart is public, and has every route of the service', async () => {
    const { ask } = await startCharts()
    const { status, json } = await ask('/openapi.json', { token: null })
    expect([status, json]).toEqual([200, document])
    const listed = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(listed.sort()).toEqual(
      ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`).sort(),
    )
    expect(document.openapi).toMatch(/^3\.1\./)
  })

  it('the OpenAPI document of chart asks for an API key at charts and for the administrator secret at keys', () => {
    for (const [path, item] of Object.entries<Record<string, { security: object[] }>>(document.paths)) {
      for (const { security } of Object.values(item)) {
        expect(security).toEqual([path.startsWith('/api/v1/charts') ? { apiKey: [] } : { adminSecret: [] }])
      }
    }
    expect(Object.keys(document.components.securitySchemes)).toEqual(['apiKey', 'adminSecret'])
  })

  it('explains each parameter where it stands, with an example that the service takes', async () => {
    const { ask } = await startCharts()
    for (const [path, item] of Object.entries<Record<string, { parameters?: Shown[] }>>(document.paths)) {
      const parameters = Object.values(item).flatMap((each) => each.parameters ?? [])
      for (const { name, description, example } of parameters)
        expect([path, name, description, example]).not.toContain(undefined)
      if (!path.includes('{chartKey}') && path !== '/api/v1/charts') continue
      const at = path.replace('{chartKey}', parameters.find(({ name }) => name === 'chartKey')?.example as string)
      const query = parameters.filter((each) => each.in === 'query').map(({ name, example }) => `${name}=${example}`)
      expect((await ask(`${at}?${query.join('&')}`)).status, path).toBe(200)
    }
  })

  it('the OpenAPI document has the picture as its example that the service draws', async () => {
    const { ask } = await startCharts()
    const { example } =
      document.paths['/api/v1/charts/{chartKey}/preview.svg'].get.responses[200].content['image/svg+xml']
    expect(example).toBe((await ask('/api/v1/charts/1466:dx:5/preview.svg?t=2.6&w=320')).text)
  })

  it('the OpenAPI document of chart shows each operation in a group', () => {
    for (const [path, item] of Object.entries<Record<string, { tags: string[] }>>(document.paths)) {
      for (const { tags } of Object.values(item)) {
        expect(tags).toEqual([path.startsWith('/api/v1/charts') ? 'Charts' : 'API keys'])
      }
    }
  })

  it.each([
    ['/api/v1/charts', 'get', 200, 'list.json'],
    ['/api/v1/charts/{chartKey}', 'get', 200, 'detail.json'],
    ['/api/v1/charts/{chartKey}/notes', 'get', 200, 'notes.json'],
    ['/api/v1/api-keys', 'post', 201, 'create-key.json'],
    ['/api/v1/charts', 'get', 401, 'unauthorized.json'],
    ['/api/v1/charts/{chartKey}', 'get', 404, 'not-found.json'],
  ] as const)(
    'the OpenAPI document of chart has a schema of %s %s %i that the documented example fits, and nothing more',
    (path, method, status, file) => {
      const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } })
      const fits = ajv.compile(schemaOf(path, method, status))
      const example = JSON.parse(golden(file))
      expect(fits(example), ajv.errorsText(fits.errors)).toBe(true)
      expect(fits({ ...example, more: 1 })).toBe(false)
    },
  )

  it('the OpenAPI document of chart describes the numbers of a query as numbers with their bounds', () => {
    const parameters = document.paths['/api/v1/charts'].get.parameters as { name: string; schema: object }[]
    const limit = parameters.find(({ name }) => name === 'limit')
    expect(limit?.schema).toMatchObject({ type: 'integer', minimum: 1, maximum: 50, default: 20 })
    expect(parameters.map(({ name }) => name)).toEqual(['page', 'limit', 'kind', 'difficulty', 'q', 'sort'])
  })
})
