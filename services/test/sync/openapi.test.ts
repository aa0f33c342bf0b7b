import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { responseValidator } from '../../../test/setup/own-responses.ts'
import { describeApi } from '../../sync/openapi.ts'
import { ROUTES } from '../../sync/routes.ts'
import { chunk, incremental, record, startSync } from './harness.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
const document = JSON.parse(JSON.stringify(describeApi())) as any
const { paths } = document

describe('the OpenAPI document of sync', () => {
  it('the OpenAPI document of sync is one of version 3.1 with the Bot-Token scheme', () => {
    expect(document.openapi).toMatch(/^3\.1\./)
    expect(document.components.securitySchemes).toEqual({
      BotToken: { type: 'apiKey', in: 'header', name: 'Bot-Token', description: expect.any(String) },
    })
  })

  it('the OpenAPI document of sync has every route, and asks for the token if the service does', async () => {
    const { url, send } = await startSync()
    expect((await send('/openapi.json')).json).toEqual(document)
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as object).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        operation,
      })),
    )
    const routes = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    expect(operations.map(({ name }) => name).sort()).toEqual([...routes, 'GET /openapi.json'].sort())
    for (const { name, operation } of operations) {
      const [method = '', path = ''] = name.split(' ')
      const { status } = await fetch(url() + path.replace('{qq}', '10000').replace('{snapshot_id}', 'A'), { method })
      expect(operation.security, name).toEqual(status === 401 ? [{ BotToken: [] }] : [])
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/)
    }
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length)
  })

  it('the OpenAPI document of sync describes parameters with the ranges that are checked', () => {
    const { parameters } = paths['/api/bot/player/{qq}/trend'].get
    expect(parameters).toMatchObject([
      {
        name: 'qq',
        in: 'path',
        required: true,
        schema: { type: 'integer', minimum: 10_000, maximum: 999_999_999_999 },
      },
      {
        name: 'days',
        in: 'query',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 365, default: 30 },
      },
    ])
  })

  it('shows each operation in a group, and explains each parameter with an example', () => {
    for (const item of Object.values<Record<string, { tags?: string[]; parameters?: object[] }>>(paths)) {
      for (const { tags, parameters = [] } of Object.values(item)) {
        expect(tags).toHaveLength(1)
        for (const each of parameters)
          expect(each).toMatchObject({ description: expect.any(String), example: expect.anything() })
      }
    }
  })

  it('the OpenAPI document of sync takes and refuses the bodies that the service takes and refuses', async () => {
    const { schema, example } = paths['/api/bot/sync'].post.requestBody.content['application/json']
    const fits = new Ajv2020({
      strict: true,
      allowUnionTypes: true,
      strictTypes: false,
      strictRequired: false,
    }).compile(schema)
    const { sync } = await startSync()
    for (const [body, isTaken] of [
      [example, true],
      [incremental([record(), { song_id: 1, level_index: 1, achievements: 99 }]), true],
      [{ player_id: 10_000, records: [], nickname: null, snapshot_id: null }, true],
      [{ qq: 9999, records: [] }, false],
      [{ qq: 10_000 }, false],
      [incremental([{ song_id: '1', level_index: 1, achievements: 99 }]), false],
      [incremental([record(2001, { fc: 1 })]), false],
      [incremental(Array.from({ length: 10_001 }, () => record())), false],
      [chunk('a\u0000', []), false],
      [chunk('x'.repeat(65), []), false],
      [incremental([], { rating: -1 }), false],
      [{ records: [] }, false],
      [chunk('A', [record()], { chunk_index: 0 }), false],
      [chunk('A', [record()], { chunk_count: 2 }), false],
      [chunk('A', [record()], { chunk_index: null, qq: 20_001 }), true],
      [chunk('A', [record()], { chunk_index: 0, chunk_count: null }), false],
      [{ ...chunk('A', [record()]), qq: 20_000, chunk_index: 0, chunk_count: 2 }, true],
    ] as const) {
      const name = JSON.stringify(body).slice(0, 100)
      expect(fits(body), name).toBe(isTaken)
      expect((await sync(body)).status === 200, name).toBe(isTaken)
    }
  })

  it('the OpenAPI document of sync has no pattern that only JavaScript reads', () => {
    expect(JSON.stringify(document)).not.toMatch(/\\\\p\{/)
  })

  it('the OpenAPI document of sync would report a response that is not what it promises', () => {
    const validate = responseValidator(document)
    const reply = (json: object, status = 200) => ({
      status,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      text: JSON.stringify(json),
      json,
    })
    const ok = {
      status: 'ok',
      snapshot_id: null,
      imported: 0,
      updated: 0,
      skipped: 0,
      stored_records: 0,
      removed: 0,
      errors: [],
    }
    const check = (json: object, status?: number) => validate('POST', '/api/bot/sync', reply(json, status) as never)
    expect(check(ok)).toBeNull()
    expect(check({ ...ok, status: 'done' })).toContain('status')
    expect(check({ ...ok, more: 1 })).toContain('additional')
    expect(check(ok, 418)).toContain('418')
    expect(check({ detail: 'x' }, 409)).toContain('open_snapshot_id')
  })
})
