import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Member, topLevelMembers } from '../../src/lib/json-members.ts'

test('the members of an object keep their order, their duplicates and the text of their values', () => {
  expect(topLevelMembers(' { "a" : 1.0 ,\n"b":[ {"a":2}, "]" ], "a":"x\\"}" ,"c":null}\t')).toEqual([
    { key: 'a', value: '1.0' },
    { key: 'b', value: '[ {"a":2}, "]" ]' },
    { key: 'a', value: '"x\\"}"' },
    { key: 'c', value: 'null' },
  ])
})

test('the members of an object have their keys decoded', () => {
  expect(topLevelMembers('{"\\u0063hargeId":2,"a\\\\":"\\\\","\\"":3}').map((m) => m.key)).toEqual([
    'chargeId',
    'a\\',
    '"',
  ])
})

test('the members of an object have each its own key, also one after an object whose key there was a backslash', () => {
  expect(topLevelMembers('{"q":1,"\\\\":2}').map((m) => m.key)).toEqual(['q', '\\'])
  expect(topLevelMembers('{"q":1,"\\u0061":2}').map((m) => m.key)).toEqual(['q', 'a'])
})

test('the members of an object of an empty object are none', () => {
  expect(topLevelMembers(' { } ')).toEqual([])
})

test('the members of an object are found behind a value that nests as deep as a body can be long', () => {
  const deep = '['.repeat(500_000) + ']'.repeat(500_000)
  expect(topLevelMembers(`{"a":${deep},"b":1}`)[1]).toEqual({ key: 'b', value: '1' })
})

describe('the text of a body', () => {
  const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 })
  // JSON.parse of Node 26 takes any escaped name for "\\" if an object before had that name there: it is no model of such names.
  const key = fc
    .oneof(fc.constantFrom('a', 'b', '__proto__', ''), fc.string({ unit: 'binary' }))
    .filter((text) => !text.includes('\\'))
  const quoted = fc
    .tuple(key, fc.boolean())
    .map(([text, escaped]) => ({ key: text, text: escaped ? escapeAll(text) : JSON.stringify(text) }))
  const json = fc
    .oneof(
      fc.json({ noUnicodeString: false }),
      fc.tuple(fc.jsonValue(), fc.nat(3)).map(([each, indent]) => JSON.stringify(each, null, indent)),
    )
    .filter((text) => !/"\\\\"\s*:/.test(text))
  const value = fc.oneof(
    json,
    fc.constantFrom('2.0', '2e0', '-0', '1E+2', '"\\u0032"', '"\\\\"', '"}"', '[{"a":["\\"]"]}]'),
  )
  const member = fc.record({ name: quoted, value, gaps: fc.tuple(space, space, space, space) })

  test('the text of a body has every member found, with its own text', () => {
    fc.assert(
      fc.property(fc.array(member, { maxLength: 8 }), space, (written, gap) => {
        const body = written
          .map(({ name, value: v, gaps: [a, b, c, d] }) => `${a}${name.text}${b}:${c}${v}${d}`)
          .join(',')
        const text = `${gap}{${body === '' ? gap : body}}${gap}`
        const members = topLevelMembers(text)
        expect(members).toEqual(written.map(({ name, value: v }) => ({ key: name.key, value: v.trim() })))
        const [found, parsed] = parsedAlone(members, text)
        expect(found).toEqual(parsed)
      }),
      { numRuns: 1000 },
    )
  }, 60_000)

  /** The last member of each name, as found and by JSON.parse. No other test has made an object in this context. */
  function parsedAlone(members: readonly Member[], text: string): Map<string, string>[] {
    const both = runInNewContext(
      `JSON.stringify([
        members.map(({ key, value }) => [key, JSON.stringify(JSON.parse(value))]),
        Object.entries(JSON.parse(text)).map(([key, value]) => [key, JSON.stringify(value)]),
      ])`,
      { members, text },
    )
    return (JSON.parse(both) as [string, string][][]).map((each) => new Map(each))
  }

  function escapeAll(text: string): string {
    const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))
    return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
  }
})
