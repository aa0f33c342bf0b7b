import { expect, test } from 'vitest'
import { z } from 'zod'
import { namesIn, openapiDocument, operationId } from '../../src/lib/openapi.ts'
import { parametersOf, schemaOf, shortenDate } from '../../src/lib/openapi-schemas.ts'

test('routes of one path are operations of one item, and parameters stand in braces', () => {
  const routes = [
    { method: 'GET', path: '/songs/:id' },
    { method: 'DELETE', path: '/songs/:id' },
  ]
  const { paths } = openapiDocument({ title: 'Songs' }, routes, ({ method }) => ({ summary: method }))
  expect(paths).toEqual({ '/songs/{id}': { get: { summary: 'GET' }, delete: { summary: 'DELETE' } } })
})

test.each([
  ['GET', '/', 'get'],
  ['POST', '/songs/:id/notes', 'postSongsIdNotes'],
  ['GET', '/user_data/score-list.json', 'getUserDataScoreListJson'],
])('the operation %s %s has the id %s', (method, path, id) => {
  expect(operationId(method, path)).toBe(id)
})

test('the parameters of a path are named in its order', () => {
  expect(namesIn('/songs/:song/charts/:level')).toEqual(['song', 'level'])
})

test('a member of a query is required if no request comes without it, and one of a path always is', () => {
  const object = z.strictObject({ id: z.string(), limit: z.int().optional() })
  const required = (where: 'path' | 'query') => parametersOf(where, object).map((parameter) => parameter.required)
  expect([required('query'), required('path')]).toEqual([
    [true, false],
    [true, true],
  ])
})

test('a date is described by its format, without its pattern', () => {
  const schema = z.strictObject({ at: z.iso.datetime(), code: z.string().regex(/^x/) })
  const { properties } = schemaOf(schema, { override: shortenDate })
  expect(properties).toEqual({ at: { type: 'string', format: 'date-time' }, code: { type: 'string', pattern: '^x' } })
})
