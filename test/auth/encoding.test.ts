import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBase64url, member, parseObject } from '../../src/auth/encoding.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** RFC 4648 sections 3.5 and 5 said another way: only alphabet, no lone sixth-bits group, unused bits zero. */
function isCanonical(text: string): boolean {
  if (![...text].every((c) => ALPHABET.includes(c)) || text.length % 4 === 1) return false
  const unused = { 0: 1, 2: 16, 3: 4 }[text.length % 4] ?? 1
  return text === '' || ALPHABET.indexOf(text.at(-1) ?? '') % unused === 0
}

describe('base64url', () => {
  it('gives back the bytes of what was encoded', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeBase64url(Buffer.from(bytes).toString('base64url'))).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it('accepts exactly the canonical spellings', () => {
    const text = fc.string({
      unit: fc.constantFrom(...ALPHABET, 'A', 'Q', '=', '+', '/', ' ', '\n', '\u0000', 'é'),
      maxLength: 12,
    })
    fc.assert(
      fc.property(text, (spelling) => {
        expect(decodeBase64url(spelling) !== null).toBe(isCanonical(spelling))
      }),
      { numRuns: 2000 },
    )
  })

  it.each(['QQ==', 'QR', 'Q Q', 'Q', 'QUJ', 'Q+', 'Q/', ' QQ', 'QQ\n'])('refuses %j', (text) => {
    expect(decodeBase64url(text)).toBeNull()
  })
})

describe('a JSON object', () => {
  const parse = (text: string) => parseObject(Buffer.from(text))

  it.each(['[]', '1', 'null', '"a"', '', '{', '{"a":1}x', "{'a':1}", '{"a":NaN}', '\ufeff{}'])('is not %j', (text) => {
    expect(parse(text)).toBeNull()
  })

  it('has no key twice, however it is spelled', () => {
    expect(parse('{"sub":"alice","sub":"bob"}')).toBeNull()
    expect(parse('{"sub":"alice","s\\u0075b":"bob"}')).toBeNull()
    expect(parse('{"__proto__":1,"__proto__":2}')).toBeNull()
    expect(parse('{"a":{"x":1},"b":[{"x":1}],"c":"\\",\\"a\\":1"}')).toEqual({
      a: { x: 1 },
      b: [{ x: 1 }],
      c: '","a":1',
    })
  })

  it('is read as JSON.parse reads it when its keys differ', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const text = JSON.stringify(object)
        expect(parse(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('is refused whenever one of its keys is put in again', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), fc.nat(), (object, n) => {
        const keys = Object.keys(object)
        const again = JSON.stringify(keys[n % keys.length])
        expect(parse(`${JSON.stringify(object).slice(0, -1)},${again}:0}`)).toBeNull()
      }),
    )
  })

  it('is in strict UTF-8', () => {
    expect(parseObject(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBeNull()
  })

  it('has no members that the text does not have', () => {
    const object = parse('{}') ?? {}
    for (const name of ['constructor', '__proto__', 'toString']) expect(member(object, name)).toBeUndefined()
  })
})
