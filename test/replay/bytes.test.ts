import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCombinedReader } from '../../src/replay/combined-bytes.ts'
import type { BytesReader, LineReader } from '../../src/replay/entry.ts'
import { createNames, hashOf } from '../../src/replay/names.ts'
import { createOwnReader, readOwnLine } from '../../src/replay/own-log.ts'
import { readCombinedLine } from '../../src/replay/server-logs.ts'

/** Lines are read from their bytes as they are read as text, or are left to that. */

const OWN =
  '{"level":30,"time":1795000000500,"requestId":"r","user":"alice","method":"POST","route":"POST /v1/report","category":"write","cost":20,"charged":7,"decidedAt":1795000000251.5,"plan":"team","organisation":"acme","outcome":"forwarded","shadowed":true,"httpStatus":null,"clientStatus":200,"durationMs":250.25,"msg":"request"}'
const COMBINED = '192.0.2.7 - alice [10/Oct/2026:15:55:36 +0200] "GET /a/b?c=1 HTTP/1.1" 200 512 "-" "curl/8.5"'

/** @returns whether the line was read from its bytes */
function isReadAlike(line: Buffer, bytes: BytesReader, text: LineReader): boolean {
  // What stands around a line is none of its business.
  const around = Buffer.concat([Buffer.from('"1 '), line, Buffer.from('\n0"}')])
  const reading = bytes(around, 3, 3 + line.length)
  if (reading !== null) expect(reading).toEqual(text(line.toString('utf8')))
  return reading !== null
}

/** A line with some pieces of it replaced by others. */
const changed = (line: string, pieces: readonly string[]) =>
  fc
    .array(
      fc.tuple(fc.nat(line.length), fc.nat(3), fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 2 }))),
      {
        maxLength: 3,
      },
    )
    .map((changes) => {
      const made = changes.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), line)
      return Buffer.from(made, 'utf8')
    })

const OWN_PIECES = [
  '"',
  ',',
  ':',
  '{',
  '}',
  '\\',
  '\t',
  '0',
  '1e3',
  '.5',
  '5.',
  '-',
  'null',
  'true',
  '"a":1,',
  'é',
  '9999999',
]
const COMBINED_PIECES = [' ', '"', '\\"', '[', ']', '-', '?', '/', '429', '\t', 'é', ' [x] ', ' HTTP/2', '\\x41']

describe.each([
  ['of a gateway', () => createOwnReader(createNames()), readOwnLine, OWN, OWN_PIECES],
  ['of combined', () => createCombinedReader(createNames()), readCombinedLine, COMBINED, COMBINED_PIECES],
] as const)('a line %s', (_what, createReader, text, line, pieces) => {
  test('is read from its bytes', () => {
    expect(isReadAlike(Buffer.from(line), createReader(), text)).toBe(true)
  })

  test('is never read otherwise than as text, whatever is wrong with it', () => {
    const reader = createReader()
    fc.assert(
      fc.property(changed(line, pieces), (changed) => void isReadAlike(changed, reader, text)),
      { numRuns: 3000 },
    )
  })

  test('is left to the text if it is cut off', () => {
    const reader = createReader()
    for (let end = 0; end < line.length; end++) isReadAlike(Buffer.from(line.slice(0, end)), reader, text)
  })
})

test.each([
  ['a number with many digits', '12345678901234567890'],
  ['a number with a fraction', '0.1'],
  ['a number with all digits that are exact', '1795000000.12345'],
  ['a zero before it', '01'],
])('%s is read as JSON.parse does, or left to it', (_what, number) => {
  const line = Buffer.from(OWN.replace('1795000000500', number))
  isReadAlike(line, createOwnReader(createNames()), readOwnLine)
})

test('a request without a version or a query, or with an empty one, is read from its bytes', () => {
  for (const request of ['GET /a', 'GET /a?', 'GET /a?b?c HTTP/2', 'DELETE * HTTP/1.1']) {
    const line = Buffer.from(COMBINED.replace('GET /a/b?c=1 HTTP/1.1', request))
    expect(isReadAlike(line, createCombinedReader(createNames()), readCombinedLine)).toBe(true)
  }
})

describe('names', () => {
  const textOf = (names: ReturnType<typeof createNames>, text: string): string => {
    const bytes = Buffer.from(`<${text}>`)
    return names.textOf(bytes, 1, bytes.length - 1, hashOf(bytes, 1, bytes.length - 1))
  }

  test('are the texts of their bytes, however many there are', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 3 })), fc.nat(20), (texts, most) => {
        const names = createNames(most)
        for (const text of [...texts, ...texts]) expect(textOf(names, text)).toBe(text)
      }),
      { numRuns: 200 },
    )
    const names = createNames()
    const many = Array.from({ length: 5000 }, (_, i) => `name-${i}-${'x'.repeat(i % 40)}`)
    for (const text of [...many, ...many]) expect(textOf(names, text)).toBe(text)
  })

  test('with equal hashes are kept apart', () => {
    const names = createNames()
    const bytes = Buffer.from('ab')
    expect([names.textOf(bytes, 0, 1, 7), names.textOf(bytes, 1, 2, 7), names.textOf(bytes, 0, 1, 7)]).toEqual([
      'a',
      'b',
      'a',
    ])
  })
})
