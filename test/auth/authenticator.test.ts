import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../../src/auth/authenticator.ts'
import { callerOf } from '../../src/auth/verdict.ts'
import { hashAccessKey, importedRecord, mintToken } from '../../src/control/access-key-record.ts'
import type { Denial } from '../../src/errors.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { accessKeyStore, bench, claims, jwt, NOW, word } from './support.ts'

const SECRET = 'the shared secret of a test, 32 bytes and more'
const hmac = { algorithms: ['HS256'], keys: { kind: 'secret', secret: SECRET } } as const
const token = (changes: Record<string, unknown> = {}) => jwt({ alg: 'HS256', key: SECRET, payload: claims(changes) })
const mint = (user = 'alice', expiresAt: number | null = null) => mintToken({ user, name: 'test', expiresAt }, NOW)

/** The answer as given: a promise stays one. */
type Raw = Caller | Denial | Promise<Caller | Denial>
const isNow = (response: Raw): response is Caller | Denial => !(response instanceof Promise)

it('a credential is remembered, and answered at once from then on', async () => {
  const { auth, seen } = await bench([hmac])
  const header = `Bearer ${token()}`
  const first = auth.authenticate(header)
  expect(isNow(first)).toBe(false)
  await first
  expect(auth.authenticate(header)).toEqual(callerOf('alice', 'jwt'))
  expect(seen).toEqual([
    { type: 'credential_checked', cached: false },
    { type: 'credential_checked', cached: true },
  ])
})

it('a credential is the same one however the scheme is spelled', async () => {
  const { auth } = await bench([hmac])
  await auth.authenticate(`bearer   ${token()}`)
  expect(isNow(auth.authenticate(`Bearer ${token()}`))).toBe(true)
  expect(isNow(auth.authenticate(`BEARER  ${token()}`))).toBe(true)
})

it('a credential is forgotten after the time that is configured', async () => {
  const gateway = await bench([hmac], { cache: { max: 10, ttlMs: 5000 } })
  await gateway.ask(token())
  gateway.time += 4999
  expect(isNow(gateway.auth.authenticate(`Bearer ${token()}`))).toBe(true)
  gateway.time += 1
  expect(isNow(gateway.auth.authenticate(`Bearer ${token()}`))).toBe(false)
})

it('a credential is forgotten at another moment than others that came with it, up to a quarter of that time earlier', async () => {
  let share = 0
  const random = (): number => share++ / 4
  const gateway = await bench([hmac], { cache: { max: 10, ttlMs: 4000 }, random })
  const all = ['a', 'b', 'c', 'd', 'e'].map((sub) => token({ sub }))
  for (const one of all) await gateway.ask(one)
  const known = (): boolean[] => all.map((one) => isNow(gateway.auth.authenticate(`Bearer ${one}`)))
  gateway.time += 2999
  expect(known()).toEqual([true, true, true, true, true])
  gateway.time += 501
  expect(known()).toEqual([true, true, false, false, false])
})

it('a credential is never remembered past its exp, not even within the tolerance for clocks', async () => {
  const gateway = await bench([{ ...hmac, clockToleranceSeconds: 60 }], { cache: { max: 10, ttlMs: 3_600_000 } })
  const short = token({ exp: NOW / 1000 + 2 })
  await gateway.ask(short)
  gateway.time += 1999
  expect(isNow(gateway.auth.authenticate(`Bearer ${short}`))).toBe(true)
  gateway.time += 1
  const again = gateway.auth.authenticate(`Bearer ${short}`)
  expect(isNow(again)).toBe(false)
  expect(word(await again)).toBe('alice')
  expect(isNow(gateway.auth.authenticate(`Bearer ${short}`))).toBe(false)
  gateway.time += 60_000
  expect(await gateway.outcome(short)).toBe('unauthorized')
})

it('a credential is not remembered as another that differs in one character', async () => {
  const gateway = await bench([hmac])
  const good = token()
  await gateway.ask(good)
  const last = good.at(-2) === 'A' ? 'B' : 'A'
  expect(await gateway.outcome(`${good.slice(0, -2)}${last}${good.at(-1)}`)).toBe('unauthorized')
})

it('a header that is only the hash of a long credential is refused while that credential is remembered', async () => {
  const gateway = await bench([hmac], { maxCredential: 20_000 })
  const long = token({ filler: 'x'.repeat(8192) })
  expect(await gateway.outcome(long)).toBe('alice')
  const hash = createHash('sha256').update(long).digest('base64')
  expect(word(await gateway.auth.authenticate(hash))).toBe('unauthorized')
})

it('a credential is forgotten when the authenticator closes', async () => {
  const { auth, ask } = await bench([hmac])
  await ask(token())
  auth.close()
  expect(isNow(auth.authenticate(`Bearer ${token()}`))).toBe(false)
})

it('a credential that is bad is judged again each time where that costs no one but us', async () => {
  const { ask, seen } = await bench([hmac])
  for (let i = 0; i < 3; i++) expect(word(await ask(token({ exp: 1 })))).toBe('unauthorized')
  expect(seen).toEqual(Array(3).fill({ type: 'credential_checked', cached: false }))
})

it('a missing credential is refused at once with the plain challenge', async () => {
  const { auth } = await bench([hmac])
  expect(auth.authenticate(undefined)).toEqual({
    isMissing: true,
    code: 'unauthorized',
    msg: 'A Bearer credential is required.',
    headers: { 'WWW-Authenticate': 'Bearer realm="tollgate"' },
    reason: 'no Authorization header',
  })
})

describe('a credential of another kind', () => {
  it.each([
    'mk_live_4f6d2a9b8c7e1d3f5a6b8c9d0e1f2a3b',
    'bot-token-0123456789abcdef',
    'sk_test_abc',
    'gw_',
    'gw_short',
    `gw_${'a'.repeat(38)}`,
    'a'.repeat(128),
    'YWxpY2U6c2VjcmV0',
    'undefined',
    'null',
  ])('such as %s is refused unseen', async (credential) => {
    const tokens = accessKeyStore()
    const { auth } = await bench([hmac], { tokens })
    const response = auth.authenticate(`Bearer ${credential}`)
    expect(response).toMatchObject({ code: 'unauthorized', reason: 'neither a JWT nor an access key' })
    expect(JSON.stringify(response)).not.toContain(credential)
    expect(tokens.asked).toBe(0)
  })

  it('a credential of another kind is an access key with a letter mistyped', async () => {
    const { token: good, record } = mint()
    const tokens = accessKeyStore(record)
    const { outcome } = await bench([], { tokens })
    const letter = good[10] === 'x' ? 'y' : 'x'
    expect(await outcome(`${good.slice(0, 10)}${letter}${good.slice(11)}`)).toBe('unauthorized')
    expect(tokens.asked).toBe(0)
  })

  it('a credential of another kind is an access key where those are switched off', async () => {
    const { token: good, record } = mint()
    const tokens = accessKeyStore(record)
    const { outcome } = await bench([hmac], { tokens, gatewayTokens: false })
    expect(await outcome(good)).toBe('unauthorized')
    expect(tokens.asked).toBe(0)
  })

  it('a credential of another kind is a JWT where no issuer is configured', async () => {
    const { outcome } = await bench([])
    expect(await outcome(token())).toBe('unauthorized')
  })
})

it('an access key is remembered for a quarter of a second at most, whatever is configured', async () => {
  const { token: good, record } = mint()
  const tokens = accessKeyStore(record)
  const gateway = await bench([], { tokens, cache: { max: 10, ttlMs: 3_600_000 } })
  expect(await gateway.ask(good)).toEqual(callerOf('alice', 'gateway_token'))
  gateway.time += 249
  expect(gateway.auth.authenticate(`Bearer ${good}`)).toEqual(callerOf('alice', 'gateway_token'))
  tokens.records.set(record.hash, { ...record, revokedAt: gateway.time })
  gateway.time += 1
  expect(await gateway.outcome(good)).toBe('unauthorized')
  expect(tokens.asked).toBe(2)
})

it('an access key is forgotten at another moment than others that came with it', async () => {
  const { token: good, record } = mint()
  const tokens = accessKeyStore(record)
  const gateway = await bench([], { tokens, random: () => 1 })
  await gateway.ask(good)
  gateway.time += 187
  await gateway.ask(good)
  expect(tokens.asked).toBe(1)
  gateway.time += 1
  await gateway.ask(good)
  expect(tokens.asked).toBe(2)
})

it('an access key is remembered no longer than is configured', async () => {
  const { token: good, record } = mint()
  const tokens = accessKeyStore(record)
  const gateway = await bench([], { tokens, cache: { max: 10, ttlMs: 100 } })
  await gateway.ask(good)
  gateway.time += 99
  await gateway.ask(good)
  expect(tokens.asked).toBe(1)
  gateway.time += 1
  await gateway.ask(good)
  expect(tokens.asked).toBe(2)
})

it('an access key is remembered from the moment on in which it was asked for, however long that took', async () => {
  const { token: good, record } = mint()
  const gateway = await bench([], {
    tokens: {
      find: async () => {
        gateway.time += 150
        return record
      },
      isImported: () => false,
    },
  })
  expect(await gateway.outcome(good)).toBe('alice')
  gateway.time += 99
  expect(isNow(gateway.auth.authenticate(`Bearer ${good}`))).toBe(true)
  gateway.time += 1
  expect(isNow(gateway.auth.authenticate(`Bearer ${good}`))).toBe(false)
})

it('an access key is not remembered past its own end', async () => {
  const { token: good, record } = mint('alice', NOW + 500)
  const gateway = await bench([], { tokens: accessKeyStore(record) })
  expect(await gateway.outcome(good)).toBe('alice')
  gateway.time += 500
  expect(await gateway.outcome(good)).toBe('unauthorized')
})

it('an access key that many requests bring at once is looked up once', async () => {
  const { token: good, record } = mint()
  const tokens = accessKeyStore(record)
  const { outcome } = await bench([], { tokens })
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => outcome(good))))).toEqual(new Set(['alice']))
  expect(tokens.asked).toBe(1)
})

it('an access key that is good stays remembered in a flood of bad ones', async () => {
  const { token: good, record } = mint()
  const tokens = accessKeyStore(record)
  const gateway = await bench([], { tokens, cache: { max: 1, ttlMs: 10_000 } })
  await gateway.outcome(good)
  for (let i = 0; i < 50; i++) await gateway.outcome(mint().token)
  expect(gateway.auth.authenticate(`Bearer ${good}`)).toMatchObject({ user: 'alice' })
})

it('an access key is not remembered as bad because the store failed', async () => {
  const { token: good, record } = mint()
  let up = false
  const gateway = await bench([], {
    tokens: {
      find: async () => {
        if (up) return record
        throw new StoreError('down', 'connection', 'no')
      },
      isImported: () => false,
    },
  })
  expect(await gateway.ask(good)).toMatchObject({ code: 'store_unavailable', headers: { 'Retry-After': '1' } })
  up = true
  expect(await gateway.outcome(good)).toBe('alice')
})

it('an access key can be checked again after a check that broke', async () => {
  const { token: good, record } = mint()
  let broken = true
  const find = async () => {
    if (broken) throw new TypeError('a bug')
    return record
  }
  const gateway = await bench([], { tokens: { find, isImported: () => false } })
  await expect(gateway.ask(good)).rejects.toThrow('a bug')
  broken = false
  expect(await gateway.outcome(good)).toBe('alice')
})

it.each(['sk_live_4f6d2a9b8c7e1d3f', 'a.b.c', 'short', 'aGV5+/8='])(
  'an access key that somebody else has made, such as %s, may have any shape, and is good until it is revoked',
  async (key) => {
    const owner = { hash: hashAccessKey(key), user: 'bob', name: 'from Kong', expiresAt: null }
    const record = importedRecord(owner, NOW)
    const tokens = accessKeyStore(record)
    const gateway = await bench([hmac], { tokens })
    expect(await gateway.outcome(key)).toBe('bob')
    expect(await gateway.outcome(`${key}x`)).toBe('unauthorized')
    tokens.records.set(record.hash, { ...record, revokedAt: NOW })
    gateway.time += 60_000
    expect(await gateway.outcome(key)).toBe('unauthorized')
    expect(await (await bench([hmac], { tokens: accessKeyStore(record), gatewayTokens: false })).outcome(key)).toBe(
      'unauthorized',
    )
  },
)

it('an access key and a JWT of one user name one user', async () => {
  const { token: good, record } = mint()
  const { outcome } = await bench([hmac], { tokens: accessKeyStore(record) })
  expect(await outcome(good)).toBe(await outcome(token()))
})
