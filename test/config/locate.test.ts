import { expect, test } from 'vitest'
import { lineOf, locate } from '../../src/config/locate.ts'
import { parseTree } from '../../src/config/tree.ts'

const { tree } = parseTree(`listen: 0.0.0.0:8080
upstream:
  url: http://127.0.0.1:9000
routes:
  - match: GET /a
    cost: { body: id }
  - { match: GET /b }
empty:
`)

const at = (path: (string | number)[], key?: string) => {
  const { line, column } = locate(tree, key === undefined ? { path } : { path, key })
  return `${line}:${column}`
}

test('a path leads to the value if that is a scalar', () => {
  expect(at(['listen'])).toBe('1:9')
  expect(at(['routes', 1, 'match'])).toBe('7:14')
})

test('a path leads to the key if the value is a map or a list', () => {
  expect(at(['upstream'])).toBe('2:1')
  expect(at(['routes', 0, 'cost'])).toBe('6:5')
})

test('a path leads to the item of a list', () => expect([at(['routes', 0]), at(['routes', 1])]).toEqual(['5:5', '7:5']))

test('a path leads to the key if that is meant', () => {
  expect(at([], 'listen')).toBe('1:1')
  expect(at(['routes', 1], 'match')).toBe('7:7')
})

test('a path leads to the deepest map that should hold what is missing', () => {
  expect(at(['upstream', 'tls', 'ca'])).toBe('2:1')
  expect(at(['routes', 0, 'cost', 'values'])).toBe('6:5')
  expect(at(['routes', 7])).toBe('4:1')
  expect(at(['nowhere'])).toBe('1:1')
})

test('a path leads to the place after the colon of an empty value', () => expect(at(['empty'])).toBe('8:7'))

test('the line of a path is known only if the file has it', () => {
  expect(lineOf(tree ?? fail(), ['routes', 1, 'match'])).toBe(7)
  expect(lineOf(tree ?? fail(), ['routes', 2, 'match'])).toBeNull()
})

test('the letter case of a key matters, except for names of header fields', () => {
  const { tree } = parseTree('upstream: { headers: { X-Key: a } }\nquota: { baselines: { personal: { Read: {} } } }\n')
  const lineIn = (path: string[]) => lineOf(tree ?? fail(), path)
  expect(lineIn(['upstream', 'headers', 'x-key'])).toBe(1)
  expect(lineIn(['quota', 'baselines', 'personal', 'Read'])).toBe(2)
  expect(lineIn(['quota', 'baselines', 'personal', 'read'])).toBeNull()
  expect(lineIn(['Upstream'])).toBeNull()
})

function fail(): never {
  throw new Error('the document was not read')
}
