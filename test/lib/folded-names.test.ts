import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNameOf } from '../../src/lib/folded-names.ts'

const reads = (text: string, name: string): boolean => isNameOf(text, 0, text.length, name)

describe('a name', () => {
  it.each([
    'api_key',
    'API_KEY',
    'api.key',
    'api key',
    'api+key',
    'api[key',
    ' api_key',
    '%20api_key',
    'api%5fkey',
    'api_key%00x',
    'api_key[]',
    'api_key[a]',
    '%61pi_key',
  ])('is read by some server in %s', (text) => expect(reads(text, 'api_key')).toBe(true))

  it.each([
    '',
    'api',
    'api_key2',
    'xapi_key',
    'apikey',
    'api-key',
    'api%key',
    'api_ke%zz',
    'api_key%',
    '[api_key]',
    '%2561pi_key',
  ])('is read by no server in %j', (text) => expect(reads(text, 'api_key')).toBe(false))
})

/** What PHP makes of a name, by its own description: decoded, cut, without blanks in front, `.`, blanks and a lone `[` folded. */
function byPhp(written: string): string {
  const decoded = written
    .replaceAll('+', ' ')
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const [cut = ''] = decoded.split('\0')
  const name = cut.replace(/^[ \t]+/, '')
  const list = name.indexOf('[')
  const base = list > 0 && name.includes(']', list) ? name.slice(0, list) : name
  return base.replace(/[. [\t]/g, '_')
}

it('is found wherever PHP reads it, and nowhere that neither PHP nor letter case leads to', () => {
  const pieces = fc.constantFrom('a', 'A', '_', '.', ' ', '+', '[', ']', '%5B', '%2E', '%61', '%00', '%', 'b')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 6 }), fc.constantFrom('a', 'a_a', '_a'), (parts, name) => {
      const text = parts.join('')
      if (byPhp(text).toLowerCase() === name) expect(reads(text, name)).toBe(true)
      // It may be cut at each bracket, since others read lists in other ways.
      const cuts = [...text.matchAll(/\[|%5B/g)].map(({ index }) => text.slice(0, index))
      const readings = [text, ...cuts].map((each) => byPhp(each).toLowerCase())
      if (reads(text, name)) expect(readings).toContain(name)
    }),
    { numRuns: 5000 },
  )
})
