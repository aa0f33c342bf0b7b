import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonAt } from '../../src/lib/json-path.ts'

describe('a value by path', () => {
  it.each([
    ['sub', '{"sub":"alice"}', '"alice"'],
    ['app.plan', '{"app":{"plan":"pro"}}', '"pro"'],
    ['app.plan', '{"app":{"plan":"pro"},"app.plan":"free"}', '"free"'],
    ['https://id.example.org/uid', '{"https://id":{"example":{"org/uid":1}},"https://id.example.org/uid":2}', '2'],
    ['https://id.example.org/app.plan', '{"https://id.example.org/app":{"plan":"pro"}}', '"pro"'],
    ['a.b.c', '{"a.b":{"c":1},"a":{"b.c":2}}', '1'],
    ['a.b', '{ "a" : { "b" : [ 1, 2 ] } }', '[ 1, 2 ]'],
    ['a.b', '{"a":{"\\u0062":1}}', '1'],
    ['a.__proto__', '{"a":{"__proto__":1}}', '1'],
  ])('%s of %s is %s', (path, text, json) => {
    expect(jsonAt(text, path)).toBe(json)
  })

  it.each([
    ['that is not there', 'a.b', '{"a":{"c":1}}'],
    ['below a text', 'a.b', '{"a":"{\\"b\\":1}"}'],
    ['below a list', 'a.0', '{"a":["x"]}'],
    ['below null', 'a.b', '{"a":null}'],
    ['that is there twice', 'a.b', '{"a":{"b":1,"b":2}}'],
    ['that is there twice, once with an escape', 'a.b', '{"a":{"b":1,"\\u0062":2}}'],
    ['of the prototype', 'a.constructor', '{"a":{}}'],
    ['in another one than the longest that fits', 'a.b.c', '{"a.b":{"d":1},"a":{"b":{"c":2}}}'],
  ])('%s is none', (_, path, text) => {
    expect(jsonAt(text, path)).toBe(null)
  })

  it('a value by path is what JSON.parse finds where no name has a dot or stands twice', () => {
    const name = fc.string({ minLength: 1, maxLength: 3 }).filter((text) => !text.includes('.'))
    const object = fc.dictionary(name, fc.dictionary(name, fc.jsonValue({ maxDepth: 2 })), { minKeys: 1 })
    fc.assert(
      fc.property(object, (value) => {
        for (const [outer, inner] of Object.entries(value)) {
          for (const [key, leaf] of Object.entries(inner)) {
            expect(jsonAt(JSON.stringify(value), `${outer}.${key}`)).toBe(JSON.stringify(leaf))
          }
        }
      }),
    )
  }, 60_000)
})
