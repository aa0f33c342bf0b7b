import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hashAccessKey, looksLikeAccessKey, mintToken } from '../../src/control/access-key-record.ts'

const OWNER = { user: 'alice', name: 'laptop', expiresAt: null }
const mint = (): string => mintToken(OWNER, 1000).token

it('a minted access key is gw_, 32 characters and a checksum of 6', () => {
  for (let i = 0; i < 200; i++) expect(mint()).toMatch(/^gw_[0-9A-Za-z]{38}$/)
})

it('a minted access key looks like one, and no two are alike', () => {
  const tokens = Array.from({ length: 200 }, mint)
  expect(tokens.every(looksLikeAccessKey)).toBe(true)
  expect(new Set(tokens).size).toBe(200)
})

it('a minted access key uses each character of its alphabet about as often as any other', () => {
  const counts = new Map<string, number>()
  for (let i = 0; i < 2000; i++) for (const c of mint().slice(3, 35)) counts.set(c, (counts.get(c) ?? 0) + 1)
  expect(counts.size).toBe(62)
  // 64,000 draws: 1032 of each, with a deviation of 32. Bytes taken modulo 62 would give the first eight 1250.
  for (const count of counts.values()) expect(Math.abs(count - 1032)).toBeLessThan(190)
})

it('a minted access key leaves a record with its hash and without itself', () => {
  const { token, record } = mintToken({ user: 'alice', name: 'laptop', expiresAt: 9000 }, 1000)
  expect(record).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    hash: createHash('sha256').update(token).digest('hex'),
    user: 'alice',
    name: 'laptop',
    createdAt: 1000,
    expiresAt: 9000,
    revokedAt: null,
  })
  expect(JSON.stringify(record)).not.toContain(token.slice(3, 35))
})

it('a minted access key is taken by every later version, since nobody could make it again', () => {
  expect(looksLikeAccessKey('gw_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL')).toBe(true)
})

it('a minted access key is known by its SHA-256 in hexadecimal', () => {
  expect(hashAccessKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

const CHARACTERS = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']

it('what looks like an access key does not any more when any single character is another one', () => {
  const token = mint()
  for (let at = 3; at < token.length; at++)
    for (const other of CHARACTERS) {
      if (other !== token[at]) expect(looksLikeAccessKey(token.slice(0, at) + other + token.slice(at + 1))).toBe(false)
    }
})

it('what looks like an access key does not when two neighbours change places', () => {
  fc.assert(
    fc.property(fc.nat(36), (offset) => {
      const [token, at] = [mint(), offset + 3]
      fc.pre(token[at] !== token[at + 1])
      expect(looksLikeAccessKey(token.slice(0, at) + token[at + 1] + token[at] + token.slice(at + 2))).toBe(false)
    }),
  )
}, 60_000)

it.each([
  ['nothing', () => ''],
  ['its prefix alone', () => 'gw_'],
  ['one cut short', () => mint().slice(0, -1)],
  ['one with something behind', () => `${mint()}0`],
  ['one with a line end behind', () => `${mint()}\n`],
  ['one with a space in front', () => ` ${mint()}`],
  ['one of another prefix', () => mint().replace('gw_', 'mk_')],
  ['one with a prefix in capitals', () => mint().replace('gw_', 'GW_')],
  ['two in a row', () => mint() + mint()],
  ['a JWT', () => 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln'],
])('what looks like an access key is never %s', (_, make) => {
  expect(looksLikeAccessKey(make())).toBe(false)
})

it('what looks like an access key is no text that only has the shape', () => {
  const noise = fc
    .array(fc.constantFrom(...CHARACTERS), { minLength: 38, maxLength: 38 })
    .map((c) => `gw_${c.join('')}`)
  fc.assert(fc.property(noise, (text) => !looksLikeAccessKey(text)))
}, 60_000)
