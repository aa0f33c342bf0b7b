import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldedParameter, isReadAs, unescaped } from '../../src/lib/parameter-names.ts'

const reads = (text: string, folded: string): boolean => isReadAs(text, 0, text.length, folded)

/** Names with what services fold, decode and cut. */
const written = fc.array(fc.constantFrom(...'akK_.[] +?%\0', '%5B', '%6b', '%00', '%2E', '%2', 'é'), { maxLength: 8 })
const folded = fc.constantFrom('k', 'a_k', '_', 'ak')

/** The same by a chain of replacements, which reads each name to its end. */
function model(name: string, folded: string): boolean {
  const plain = unescaped(name.replaceAll('+', ' ')).replace(/^[?\s]+/, '')
  if (foldedParameter(plain.slice(0, folded.length)) !== folded) return false
  return /^[?\s]*(?:[\0[]|$)/.test(plain.slice(folded.length))
}

/** What PHP makes of a name by its own description: decoded, cut, without blanks in front, `.`, blanks and a lone `[` folded. */
function byPhp(name: string): string {
  const [cut = ''] = unescaped(name.replaceAll('+', ' ')).split('\0')
  const plain = cut.replace(/^[ \t]+/, '')
  const list = plain.indexOf('[')
  const base = list > 0 && plain.includes(']', list) ? plain.slice(0, list) : plain
  return base.replace(/[. [\t]/g, '_')
}

describe('a name', () => {
  it.each(['api_key', 'sid', 'a.b', 'a+b', 'a%41', 'S~-x'])('%s is read as itself', (name) => {
    expect(reads(name, foldedParameter(name))).toBe(true)
  })

  it.each([
    ...['api_key', 'API_KEY', 'api.key', 'api key', 'api+key', 'api[key', ' api_key', '%20api_key', 'api%5fkey'],
    ...['api_key%00x', 'api_key[]', 'api_key[a]', '%61pi_key', '?api_key', 'api_key '],
  ])('a name is read by some service in %j', (text) => expect(reads(text, 'api_key')).toBe(true))

  it.each([
    ...['', 'api', 'api_key2', 'xapi_key', 'apikey', 'api-key', 'api%key', 'api_ke%zz', 'api_key%', '[api_key]'],
    ...['%2561pi_key'],
  ])('a name is read by no service in %j', (text) => expect(reads(text, 'api_key')).toBe(false))

  it('a name ends where it is said to end in a longer text', () => {
    expect(isReadAs('a=1&ke%79=2', 4, 9, 'key')).toBe(true)
    expect(isReadAs('a=1&ke%79=2', 4, 8, 'key')).toBe(false)
    expect(isReadAs('key2=1', 0, 3, 'key')).toBe(true)
  })

  it('a name is the same by one look at each character as by decoding, cutting and folding the whole', () => {
    fc.assert(
      fc.property(written, folded, (parts, name) => {
        expect(reads(parts.join(''), name), JSON.stringify(parts)).toBe(model(parts.join(''), name))
      }),
      { numRuns: 2000 },
    )
  }, 60_000)

  it('a name is found wherever PHP reads it, in any letter case', () => {
    fc.assert(
      fc.property(written, folded, (parts, name) => {
        const text = parts.join('')
        if (byPhp(text).toLowerCase() === name) expect(reads(text, name), JSON.stringify(parts)).toBe(true)
      }),
      { numRuns: 5000 },
    )
  }, 60_000)
})
