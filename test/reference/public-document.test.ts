import { expect, test } from 'vitest'
import { createPublicDocument } from '../../src/reference/public-document.ts'

test('a public document is made once for each state, whoever asks meanwhile', async () => {
  const made: number[] = []
  let state = { n: 1 }
  const document = createPublicDocument({
    current: () => state,
    documentOf: ({ n }) => {
      made.push(n)
      return { n }
    },
    maxAgeSeconds: 10,
  })
  const bodies = await Promise.all(Array.from({ length: 50 }, async () => String((await document({}))?.body)))
  expect(new Set(bodies)).toEqual(new Set(['{"n":1}']))
  state = { n: 2 }
  expect(String((await document({}))?.body)).toBe('{"n":2}')
  expect(made).toEqual([1, 2])
})

test('a public document is nothing while nothing is known, and 304 for who has it', async () => {
  let state: object | null = null
  const document = createPublicDocument({ current: () => state, documentOf: (known) => known, maxAgeSeconds: 10 })
  expect(await document({})).toBeNull()
  state = { long: 'x'.repeat(1000) }
  const response = await document({ 'accept-encoding': 'gzip' })
  const headers = response?.headers ?? []
  expect(headers).toContain('gzip')
  expect(headers).toContain('public, max-age=10')
  const etag = headers[headers.indexOf('ETag') + 1] ?? ''
  expect((await document({ 'if-none-match': etag }))?.status).toBe(304)
  state = { other: true }
  expect((await document({ 'if-none-match': etag }))?.status).toBe(200)
})
