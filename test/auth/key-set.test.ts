import { expect, it } from 'vitest'
import { findKeys, readKeySet } from '../../src/auth/key-set.ts'
import { ecKey, edKey, rocaModulus, rsaKey } from './support.ts'

const ec = ecKey('ec').jwk
const rsa = rsaKey('rsa').jwk
const read = (...keys: unknown[]) => readKeySet({ keys })

it.each([null, [], 'x', {}, { keys: {} }, { keys: [1] }, { keys: [null] }, { keys: [[]] }])(
  'a key set is not %j',
  async (json) => {
    await expect(readKeySet(json)).rejects.toThrow('not a JSON Web Key Set')
  },
)

it('a key set is not the discovery document of its issuer, which names it', async () => {
  const json = { issuer: 'https://id.example.org', jwks_uri: 'https://id.example.org/keys' }
  await expect(readKeySet(json)).rejects.toThrow(
    'name under jwks what it has as jwks_uri, "https://id.example.org/keys"',
  )
})

it('a key set is not a map of certificates, which has the same keys in another form', async () => {
  const json = { one: '-----BEGIN CERTIFICATE-----\nMIIC', two: '-----BEGIN CERTIFICATE-----\nMIID' }
  await expect(readKeySet(json)).rejects.toThrow(/^certificates, not a JSON Web Key Set: name under jwks where/)
})

it('a key set may be empty: an issuer can withdraw all its keys', async () => {
  expect(await read()).toMatchObject({ count: 0, refused: [] })
})

it('a key set gives an RSA key to every RSA algorithm, unless it says which', async () => {
  const { keys } = await read(rsa, { ...rsaKey('pss').jwk, alg: 'PS256' })
  expect(findKeys(keys, 'RS256', 'rsa').is).toBe('keys')
  expect(findKeys(keys, 'PS512', 'rsa').is).toBe('keys')
  expect(findKeys(keys, 'PS256', 'pss').is).toBe('keys')
  expect(findKeys(keys, 'RS256', 'pss').is).toBe('unknown')
})

it('a key set gives a curve to its own algorithm only', async () => {
  const { keys } = await read(ec, ecKey('p384', 'P-384').jwk, edKey('ed').jwk)
  expect(findKeys(keys, 'ES256', 'ec').is).toBe('keys')
  expect(findKeys(keys, 'ES256', 'p384').is).toBe('unknown')
  expect(findKeys(keys, 'ES384', 'p384').is).toBe('keys')
  expect(findKeys(keys, 'Ed25519', 'ed').is).toBe('keys')
  expect(findKeys(keys, 'RS256', 'ec').is).toBe('unknown')
})

it.each([
  ['for encryption', { ...ec, use: 'enc' }],
  ['for another operation', { ...ec, key_ops: ['deriveBits'] }],
  ['with unreadable operations', { ...ec, key_ops: 'verify' }],
  ['of an unknown type', { kty: 'XYZ' }],
  ['of an unknown curve', { ...ec, crv: 'secp256k1' }],
  ['for an algorithm that is not its own', { ...ec, alg: 'RS256' }],
])('a key set passes over a key %s', async (_, jwk) => {
  expect(await read(jwk)).toMatchObject({ count: 0, refused: [] })
})

it.each([
  ['a symmetric key', { kty: 'oct', k: 'A'.repeat(43), kid: 'ec' }, /symmetric/],
  ['a private key', { ...ec, d: 'AAAA' }, /private/],
  ['a short RSA key', rsaKey(undefined, 1024).jwk, /1024 bits/],
  ['an RSA key with e = 1', { ...rsa, e: 'AQ' }, /exponent 1/],
  ['an RSA key with an even e', { ...rsa, e: 'AQAA' }, /exponent even/],
  ['a key of a ROCA chip', { kty: 'RSA', e: 'AQAB', n: rocaNumber() }, /ROCA/],
  ['a point that is not on the curve', { ...ec, y: Buffer.alloc(32, 1).toString('base64url') }, /malformed/],
  ['a key without its numbers', { kty: 'EC', crv: 'P-256' }, /malformed/],
  ['a kid that is no text', { ...ec, kid: 7 }, /kid/],
])('a key set refuses %s and says so, and keeps the good ones', async (_, jwk, why) => {
  const { keys, count, refused } = await read(jwk, edKey('ed').jwk)
  expect(refused).toEqual([expect.stringMatching(/^key 1: /)])
  expect(refused[0]).toMatch(why)
  expect(count).toBe(1)
  expect(findKeys(keys, 'EdDSA', 'ed').is).toBe('keys')
})

it('a key set uses neither of two keys with one kid for one algorithm', async () => {
  const { keys, count, refused } = await read(ec, ecKey('other').jwk, ecKey('ec').jwk)
  expect(refused).toEqual(['keys 1, 3: of the same kid'])
  expect(count).toBe(1)
  expect(findKeys(keys, 'ES256', 'ec').is).toBe('unknown')
  expect(findKeys(keys, 'ES256', 'other').is).toBe('keys')
})

it('a key set takes keys without a kid for no twins: a token that names none may fit several, and one that names its key does not', async () => {
  const [one, other] = [ecKey().jwk, ecKey().jwk]
  const { keys, count, refused } = await read(one, other, ec)
  expect([count, refused]).toEqual([3, []])
  expect(findKeys(keys, 'ES256', undefined)).toMatchObject({ is: 'keys', keys: { length: 3 } })
  expect(findKeys(keys, 'ES256', 'ec').is).toBe('keys')
})

it('a key set lets a token that names no key be tried with five, and with none of six', async () => {
  const jwks = Array.from({ length: 6 }, () => ecKey().jwk)
  const five = await read(...jwks.slice(1))
  expect(findKeys(five.keys, 'ES256', undefined)).toMatchObject({ is: 'keys', keys: { length: 5 } })
  expect(findKeys((await read(...jwks)).keys, 'ES256', undefined)).toEqual({ is: 'ambiguous' })
})

it('a key set knows a key that was tried already, also in a set that is read again', async () => {
  const tried = findKeys((await read(ec)).keys, 'ES256', 'ec')
  if (tried.is !== 'keys') throw new Error('no key')
  expect(findKeys((await read(ec)).keys, 'ES256', 'ec', tried.keys)).toEqual({ is: 'unknown' })
  expect(findKeys((await read(ecKey('ec').jwk)).keys, 'ES256', 'ec', tried.keys).is).toBe('keys')
})

it('a key set lets keys of different types share a kid, as RFC 7517 allows', async () => {
  const { keys, refused } = await read(ec, { ...rsa, kid: 'ec' })
  expect(refused).toEqual([])
  expect([findKeys(keys, 'ES256', 'ec').is, findKeys(keys, 'RS256', 'ec').is]).toEqual(['keys', 'keys'])
})

it('a key set takes nothing but the numbers from a key', async () => {
  const { count } = await read({
    ...ec,
    ext: 'yes',
    key_ops: ['verify', 'encrypt'],
    x5u: 'http://127.0.0.1:1/',
    x5c: [1],
  })
  expect(count).toBe(1)
})

function rocaNumber(): string {
  const hex = rocaModulus(12345n, 2n ** 1085n + 1n).toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}
