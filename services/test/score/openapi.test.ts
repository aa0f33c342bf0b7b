import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { scoreDocument } from '../../score/openapi.ts'
import { ROUTES } from '../../score/routes.ts'
import { LIST_LIMIT } from '../../score/service.ts'
import { golden, startScore } from './harness.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
type Json = any
const document: Json = JSON.parse(JSON.stringify(scoreDocument(LIST_LIMIT)))
const operations: [string, Json][] = Object.entries(document.paths as object).flatMap(([path, item]) =>
  Object.entries(item as object).map(([method, operation]): [string, Json] => [
    `${method.toUpperCase()} ${path}`,
    operation,
  ]),
)
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true })
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

/** The schema of the body of a request. */
const bodyOf = (path: string) => document.paths[path].post.requestBody.content['application/json']

describe('the OpenAPI document of score', () => {
  it('the OpenAPI document of score is kept in config/score/openapi.json (npm run -s schema writes it anew)', () => {
    const kept = readFileSync(new URL('../../../config/score/openapi.json', import.meta.url), 'utf8')
    expect(kept).toBe(`${JSON.stringify(document, null, 2)}\n`)
  })

  it('the OpenAPI document of score is served to anybody', async () => {
    const { url, post } = await startScore()
    const response = await fetch(`${url}/openapi.json`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(await response.json()).toEqual(document)
    expect((await post('/openapi.json', {}, { method: 'GET' })).status).toBe(200)
  })

  it('the OpenAPI document of a score service with another limit has that limit', async () => {
    const { url } = await startScore({ listLimit: 3 })
    const served: Json = await (await fetch(`${url}/openapi.json`)).json()
    const [list] = served.paths['/v1/music/upsert'].post.requestBody.content['application/json'].schema.anyOf
    expect(list.properties.musicList.maxItems).toBe(3)
  })

  it('the OpenAPI document of score is one of version 3.1 with every route and no other, each under a name of its own', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/)
    expect(operations.map(([name]) => name).sort()).toEqual(
      ROUTES.map(({ method, path }) => `${method} ${path}`).sort(),
    )
    expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(operations.length)
    for (const [name, { summary }] of operations) expect(summary, name).not.toBe('')
  })

  it('the OpenAPI document of score asks for the credential of the gateway where a user is needed', () => {
    expect(document.components.securitySchemes).toMatchObject({ bearer: { type: 'http', scheme: 'bearer' } })
    for (const { method, path, access } of ROUTES) {
      const { security } = document.paths[path][method.toLowerCase()]
      expect(security, path).toEqual(access === 'user' ? [{ bearer: [] }] : [])
    }
  })

  it('the OpenAPI document of score has schemas that are JSON Schema of 2020-12, and examples that fit them', () => {
    for (const [name, { requestBody, responses }] of operations) {
      for (const { content } of [requestBody, ...Object.values(responses)].filter(Boolean) as Json[]) {
        const { schema, example } = content['application/json']
        const fits = ajv.compile(schema)
        if (example !== undefined) expect(fits(example), `${name}: ${ajv.errorsText(fits.errors)}`).toBe(true)
      }
    }
  })

  it('the OpenAPI document of score has an example of each request and of each success, and a group for each operation', () => {
    for (const [name, { requestBody, responses, tags }] of operations) {
      expect(tags, name).toHaveLength(1)
      const success = responses['200']
      for (const { content } of [requestBody, success].filter(Boolean) as Json[]) {
        expect(content['application/json'], name).toHaveProperty('example')
      }
    }
    expect(JSON.stringify(document)).not.toContain(String(Number.MAX_SAFE_INTEGER))
  })

  it('the OpenAPI document of score describes the response of every refusal, with the numbers that clients know', () => {
    for (const [name, { responses, security }] of operations) {
      expect(Object.keys(responses), name).toEqual(
        expect.arrayContaining(security.length > 0 ? ['400', '401', '409', '413', '500'] : ['200', '500']),
      )
    }
    const { responses } = document.paths['/v1/update-lx'].post
    expect(Object.keys(responses)).toEqual(['200', '400', '401', '409', '410', '413', '424', '500', '502', '504'])
  })

  it.each([
    ['/v1/music/upsert', golden('music-upsert-exact.request'), true],
    ['/v1/music/upsert', golden('music-upsert-fuzzy.request'), true],
    ['/v1/music/upsert', '{"music_id": 11466, "level": 10, "acc": "100.5%", "dxScore": 0}', true],
    ['/v1/music/upsert', '{"level": 3, "achievement": 1, "dxScore": 0}', false],
    ['/v1/music/upsert', '{"musicId": 11466, "level": 3, "dxScore": 0}', false],
    ['/v1/music/upsert', '{"musicId": 11466, "level": 5, "achievement": 1, "dxScore": 0}', false],
    ['/v1/music/upsert', '{"musicId": 11466, "level": 3, "achievement": 1, "dxScore": 0, "comboStatus": "x"}', false],
    ['/v1/music/upsert', '{"musicList": []}', false],
    ['/v1/music/delete', golden('music-delete.request'), true],
    ['/v1/music/delete', '{"musicId": 1, "level": 1, "dxScore": 1}', false],
    ['/v1/user/music', golden('user-music.request'), true],
    ['/v1/user/item-list', golden('user-item-list.request'), true],
    ['/v1/charge', golden('charge.request'), true],
    ['/v1/charge', '{"charge": 2}', true],
    ['/v1/charge', '{"chargeId": 2, "charge": 3}', false],
    ['/v1/charge', '{"chargeId": 4}', false],
    ['/v1/charge', '{}', false],
    ['/v1/music/clear', '{"confirm": false}', false],
    ['/v1/update-lx', golden('update-lx.request'), true],
    ['/v1/update-lx', '{"key": "a\\r\\nb"}', false],
    ['/v1/update-lx', '{"key": ""}', false],
    ['/v1/update-fish', golden('update-fish.request'), true],
    ['/v1/update-fish', '{"key": "a"}', false],
  ])('the OpenAPI document of score, of %s, judges %s as the service does', async (path, text, isGood) => {
    expect(ajv.validate(bodyOf(path).schema, JSON.parse(text)), ajv.errorsText()).toBe(isGood)
    const { post } = await startScore({
      external: { lxns: { base_url: 'http://127.0.0.1:9' }, fish: { base_url: 'http://127.0.0.1:9' } },
    })
    expect((await post(path, text)).json.error === 'invalid_request').toBe(!isGood)
  })
})
