import { expect, test } from 'vitest'
import { newRequestId } from '../../src/edge/request-id.ts'

const ids = Array.from({ length: 20_000 }, newRequestId)

test('each request has an id of its own, a UUID of version 4', () => {
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('every digit that is not fixed takes each of its values', () => {
  for (let place = 0; place < 36; place++) {
    const values = new Set(ids.map((id) => id[place]))
    expect(values.size).toBe([8, 13, 14, 18, 23].includes(place) ? 1 : place === 19 ? 4 : 16)
  }
})
