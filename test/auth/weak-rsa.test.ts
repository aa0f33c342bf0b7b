import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hasRocaFingerprint, rsaWeakness } from '../../src/auth/weak-rsa.ts'
import { rocaModulus, rsaKey } from './support.ts'

it('an RSA key of 2048 bits and the usual exponent is good', () => {
  expect(rsaWeakness({ ...rsaKey().jwk })).toBeNull()
})

it('an RSA key of 1024 bits is too short', () => {
  expect(rsaWeakness({ ...rsaKey(undefined, 1024).jwk })).toMatch(/1024 bits/)
})

it('an RSA key does not get longer by zeros in front', () => {
  const n = Buffer.from(rsaKey(undefined, 1024).jwk.n ?? '', 'base64url')
  expect(rsaWeakness({ n: Buffer.concat([Buffer.alloc(200), n]).toString('base64url'), e: 'AQAB' })).toMatch(
    /1024 bits/,
  )
})

it.each(['AQ', 'AA', 'Ag', 'AQAA'])('an RSA key with the exponent %s is refused', (e) => {
  expect(rsaWeakness({ ...rsaKey().jwk, e })).toMatch(/exponent/)
})

it.each([{ n: 1 }, { e: null }, { n: '' }, { n: 'A=' }, { e: undefined }])(
  'an RSA key with %j is malformed',
  (change) => {
    expect(rsaWeakness({ ...rsaKey().jwk, ...change })).toMatch(/malformed/)
  },
  60_000,
)

it('an RSA key of a chip with the ROCA fault is found by its modulus', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 64n }),
      fc.bigInt({ min: 2n ** 100n, max: 2n ** 1900n }),
      (exponent, k) => {
        expect(hasRocaFingerprint(rocaModulus(exponent, k))).toBe(true)
      },
    ),
  )
}, 60_000)

it('an RSA key of any other maker does not look like one', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 2n ** 2047n, max: 2n ** 2048n - 1n }), (n) => {
      expect(hasRocaFingerprint(n | 1n)).toBe(false)
    }),
    { numRuns: 500 },
  )
}, 60_000)
