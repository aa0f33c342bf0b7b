import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BadBody, BodyTooLarge, parseBody, readBody } from '../../common/body.ts'

const LIMIT = 1024 * 1024
const EXACT = new Set(['achievement', 'acc'])

const parse = (text: string) => parseBody(Buffer.from(text), EXACT)

it('parseBody reads JSON as it is, apart from achievements', () => {
  const json = fc.jsonValue().filter((value) => !/"(achievement|acc|__proto__)":/.test(JSON.stringify(value)))
  fc.assert(
    fc.property(json, (value) => {
      expect(parse(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

it('parseBody keeps the digits of an achievement as they were written', () => {
  expect(parse('[{"achievement": 100.49994999999999999999}, {"acc": 1.0e2, "dxScore": 2.0}]')).toEqual([
    { achievement: '100.49994999999999999999' },
    { acc: '1.0e2', dxScore: 2 },
  ])
})

it.each([
  '',
  '{',
  '{"a":1,}',
  "{'a':1}",
  'undefined',
  '{"a":1}{}',
  '{"__proto__":{"x":1}}',
  '{"a":[{"__proto__":1}]}',
  '{"\\u005f_proto__":1}',
  `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
])('parseBody refuses %.40s', (text) => expect(() => parse(text)).toThrow(BadBody))

it('parseBody reads half a million values and no more, however they are nested, and does not count what stands in texts', () => {
  const list = (length: number) => `[${Array(length).fill('0').join(',')}]`
  expect(parse(list(500_000))).toHaveLength(500_000)
  for (const many of [list(500_001), '[]'.repeat(500_001), '{'.repeat(500_001), `["\\"",${list(500_000)}]`]) {
    expect(() => parse(many)).toThrow('the body has too many values')
  }
  const text = ',[{\\"'.repeat(300_000)
  expect(parse(JSON.stringify([text]))).toEqual([text])
})

it('parseBody refuses bytes that are not UTF-8', () => {
  expect(() => parseBody(Buffer.from([0x22, 0xff, 0x22]), EXACT)).toThrow(BadBody)
})

it('parseBody does not quote the body in its message', () => {
  expect(() => parse('{"qrcode":"SGWCMAID-secret"')).toThrow(/^the body is not valid JSON$/)
})

describe('readBody', () => {
  const bytes = (size: number) => Readable.from([Buffer.alloc(size - 1), Buffer.alloc(1)])

  it('readBody takes exactly 1 MiB and not one byte more', async () => {
    expect((await readBody(bytes(LIMIT), LIMIT)).length).toBe(LIMIT)
    await expect(readBody(bytes(LIMIT + 1), LIMIT)).rejects.toThrow(BodyTooLarge)
  })

  it('readBody knows a body that breaks off from a whole one', async () => {
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from('{}')
        throw new Error('aborted')
      })(),
    )
    await expect(readBody(broken, LIMIT)).rejects.toThrow(BadBody)
  })
})
