import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyOfJson, keyOfWritten, valueOfKey } from '../../src/lib/json-scalar.ts'

describe('the key of a JSON value', () => {
  it.each([
    ['2', '2'],
    ['2.0', '2'],
    ['2.000000000000000000000000', '2'],
    ['2e0', '2'],
    ['2E+00', '2'],
    ['20e-1', '2'],
    ['0.2e1', '2'],
    ['-2', '-2'],
    ['-0', '0'],
    ['0e999999999999999999999', '0'],
    ['1e3', '1000'],
    ['2.50', '2.5'],
    ['0.05', '0.05'],
    ['1e30', '1e30'],
    ['true', 'true'],
    ['null', 'null'],
    ['"full"', 'full'],
    ['"2"', '"2"'],
    ['"\\u0032"', '"2"'],
    ['"2.0"', '"2.0"'],
    ['"02"', '02'],
    ['" 2"', ' 2'],
    ['"true"', '"true"'],
    ['"\\"2\\""', '"\\"2\\""'],
    ['""', ''],
    ['"{}"', '{}'],
  ])('%s is %s', (json, key) => {
    expect(keyOfJson(json)).toBe(key)
  })

  it.each([
    '[2]',
    '{"a":2}',
    '2.0000000000000000001',
    '9007199254740993',
    '1e999',
    '1e99999999999999999999',
    '1e-400',
    `2.${'0'.repeat(100)}`,
  ])('%s has none', (json) => {
    expect(keyOfJson(json)).toBeNull()
  })

  it('the key of a JSON value is one for each number, whatever its spelling, and no other number has it', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        (a, b) => {
          const key = keyOfJson(JSON.stringify(a))
          expect(key).not.toBeNull()
          expect(keyOfJson(a.toExponential())).toBe(key)
          expect(Number(key)).toBe(a === 0 ? 0 : a)
          expect(keyOfJson(JSON.stringify(b)) === key).toBe(a === b)
        },
      ),
    )
  }, 60_000)

  it('the key of a JSON value can be written down, and is read as the same key', () => {
    const scalar = fc.oneof(fc.string(), fc.integer().map(String), fc.integer(), fc.boolean(), fc.constant(null))
    fc.assert(
      fc.property(scalar, scalar, (a, b) => {
        const key = keyOfJson(JSON.stringify(a))
        expect(keyOfWritten(key ?? '')).toBe(key)
        expect(valueOfKey(key ?? '')).toBe(a)
        expect(keyOfJson(JSON.stringify(b)) === key).toBe(a === b)
      }),
    )
  }, 60_000)
})

describe('the key of what a person writes', () => {
  it.each([
    ['2', '2'],
    ['2.0', '2'],
    ['"2"', '"2"'],
    ['full', 'full'],
    ['"full"', 'full'],
    ['03', '03'],
    ['yes', 'yes'],
    ['true', 'true'],
    ['[2]', '[2]'],
    [' 2', ' 2'],
  ])('%s is %s', (written, key) => {
    expect(keyOfWritten(written)).toBe(key)
  })

  it('the key of what a person writes is none if the number has more digits than readers of JSON keep', () => {
    expect(keyOfWritten('9007199254740993')).toBeNull()
  })
})
