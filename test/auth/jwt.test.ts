import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { IssuerOptions } from '../../src/auth/authenticator.ts'
import { callerOf } from '../../src/auth/verdict.ts'
import { type Denial, denial } from '../../src/errors.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import {
  AUDIENCE,
  b64,
  bench,
  claims,
  ecKey,
  edKey,
  ISSUER,
  jwt,
  keySet,
  NOW,
  rsaKey,
  serve,
  serveJson,
  sign,
  type TestKey,
} from './support.ts'

const ec = ecKey('ec-1')
const rsa = rsaKey('rsa-1')
const stranger = ecKey('ec-1')
const ec512 = ecKey('ec-521', 'P-521')
const ec384 = ecKey('ec-384', 'P-384')
const ed = edKey('ed-1')
const SECRET = 'the shared secret of a test, 32 bytes and more'
const folder = tempFolder()
let keysFile: IssuerOptions['keys']

beforeAll(async () => {
  keysFile = { kind: 'file', path: join(folder, 'jwks.json') }
  await writeFile(keysFile.path, JSON.stringify(keySet(ec, rsa, ec384, ec512, ed)))
})

const open = (changes: Partial<IssuerOptions> = {}) =>
  bench([{ keys: keysFile, algorithms: ['ES256', 'RS256', 'PS256', 'EdDSA'], ...changes }])

/** Asks a fresh authenticator. */
async function judge(token: string, changes: Partial<IssuerOptions> = {}) {
  const { ask, auth } = await open(changes)
  const answer = await ask(token)
  auth.close()
  return answer
}

const reason = async (token: string, changes: Partial<IssuerOptions> = {}) =>
  ((await judge(token, changes)) as Denial).reason
const withClaims = (changes: Record<string, unknown>) => jwt({ key: ec, payload: claims(changes) })
const withHeader = (changes: Record<string, unknown>) =>
  jwt({ key: ec, header: { alg: 'ES256', kid: 'ec-1', ...changes } })

it('a token for another audience is refused with the cure, and with no word of the token', async () => {
  const cure = 'Let the provider put yours there, or set audience and audience_claim to what the token has'
  const other = await reason(withClaims({ aud: 'account', azp: 'shop-web' }))
  expect(other).toContain(`meant for another audience: no audience of the configuration is in its claim aud. ${cure}`)
  expect(other).not.toContain('account')
  expect(await reason(withClaims({ aud: undefined }))).toContain(`it has no claim aud. ${cure}`)
  expect(await reason(withClaims({ azp: 'x' }), { audienceClaim: 'azp' })).toContain('in its claim azp. ')
})

describe('a good JWT', () => {
  it.each([
    ['ES256', ec],
    ['RS256', rsa],
    ['PS256', rsa],
    ['PS512', rsa],
    ['ES384', ec384],
    ['ES512', ec512],
    ['EdDSA', ed],
  ])('signed with %s names its user', async (alg, key) => {
    expect(await judge(jwt({ alg, key }), { algorithms: [alg] })).toEqual(callerOf('alice', 'jwt'))
  })

  it('a good JWT may be signed with Ed25519, under its old and its new name', async () => {
    const ed = edKey()
    const answer = serveJson(keySet(ed))
    const server = await serve(answer)
    const { outcome } = await bench([{ keys: { kind: 'url', url: server.url }, algorithms: ['EdDSA', 'Ed25519'] }])
    expect(await outcome(jwt({ alg: 'EdDSA', key: ed }))).toBe('alice')
    expect(await outcome(jwt({ alg: 'Ed25519', key: ed }))).toBe('alice')
  })

  it.each(['HS256', 'HS384', 'HS512'])('a good JWT may be signed with a shared secret by %s', async (alg) => {
    const secret = 'ä'.repeat(32)
    expect(
      await judge(jwt({ alg, key: secret }), { keys: { kind: 'secret', secret }, algorithms: [alg] }),
    ).toMatchObject({ user: 'alice' })
  })

  it('a good JWT may carry other claims, nested ones and fractions of a second', async () => {
    expect(await judge(withClaims({ exp: NOW / 1000 + 0.5, roles: [{ a: 1 }, { a: 2 }] }))).toMatchObject({
      user: 'alice',
    })
  })
})

describe('the algorithm', () => {
  it.each(['none', 'None', 'nOnE', 'NONE', ''])('%j is refused, with an empty or any signature', async (alg) => {
    const input = `${b64({ alg })}.${b64(claims())}`
    for (const signature of ['', 'AAAA', sign(input, 'ES256', ec).toString('base64url')]) {
      expect(await judge(`${input}.${signature}`)).toMatchObject({ code: 'unauthorized' })
    }
  })

  it('HS256 with the public key as its secret is refused, in whatever form the key is taken', async () => {
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    for (const key of [pem, pem.trim(), JSON.stringify(rsa.jwk), String(rsa.jwk.n)]) {
      const token = jwt({ header: { alg: 'HS256', kid: 'rsa-1' }, signAs: 'HS256', key })
      expect(await reason(token)).toBe('alg is not allowed for the issuer')
      const lying = jwt({ header: { alg: 'RS256', kid: 'rsa-1' }, signAs: 'HS256', key })
      expect(await reason(lying)).toBe('bad signature')
    }
  })

  it('the algorithm that is sound but not in the list of the issuer is refused', async () => {
    expect(await reason(jwt({ alg: 'RS256', key: rsa }), { algorithms: ['ES256'] })).toBe(
      'alg is not allowed for the issuer',
    )
    expect(await reason(jwt({ alg: 'ES384', key: ecKey('ec-384', 'P-384') }))).toBe('alg is not allowed for the issuer')
  })

  it('ES256 does not go with a P-384 key', async () => {
    const key = ecKey('ec-384', 'P-384')
    const token = jwt({ header: { alg: 'ES256', kid: 'ec-384' }, signAs: 'ES256', key })
    expect(await reason(token)).toBe('no key of the issuer fits')
  })

  it.each([
    ['a number', 1],
    ['a list', ['ES256']],
    ['null', null],
    ['missing', undefined],
  ])('the algorithm that is %s is refused', async (_, alg) => {
    expect(await reason(withHeader({ alg }))).toBe('malformed JWT')
  })
})

it('the key of another with the same kid does not verify', async () => {
  expect(await reason(jwt({ key: stranger }))).toBe('bad signature')
})

it('the key is never taken from the token, and nothing is fetched for it', async () => {
  let fetched = 0
  const trap = createServer((_, response) => {
    fetched++
    response.end(JSON.stringify(keySet(stranger)))
  })
  await listening(trap)
  const { port } = trap.address() as { port: number }
  const url = `http://127.0.0.1:${port}/`
  for (const extra of [{ jwk: stranger.jwk }, { jku: url }, { x5u: url }, { x5c: ['MIIB'] }]) {
    for (const kid of ['ec-1', 'of the attacker']) {
      const token = jwt({ header: { alg: 'ES256', kid, ...extra }, key: stranger })
      expect(await judge(token)).toMatchObject({ code: 'unauthorized' })
    }
  }
  expect(fetched).toBe(0)
  expect(await judge(withHeader({ jwk: stranger.jwk, jku: url }))).toMatchObject({ user: 'alice' })
  await new Promise((resolve) => trap.close(resolve))
})

it.each(['../../../../dev/null', "' OR 1=1 --", '__proto__', 'constructor', 'EC-1', 'ec-1 ', '', 'k'.repeat(900)])(
  'the key is not found by the kid %j',
  async (kid) => {
    expect(await reason(withHeader({ kid }))).toBe('no key of the issuer fits')
  },
)

it.each([[['ec-1']], [{ 0: 'ec-1' }], [1], [null]])('the key is not named by the kid %j', async (kid) => {
  expect(await reason(withHeader({ kid }))).toBe('malformed JWT')
})

it('the key needs no name where only one fits', async () => {
  expect(await judge(withHeader({ kid: undefined }))).toMatchObject({ user: 'alice' })
})

const inFile = async (...keys: TestKey[]) => {
  const file = { kind: 'file', path: join(folder, `${keys.length}.json`) } as const
  await writeFile(file.path, JSON.stringify(keySet(...keys)))
  return { keys: file, algorithms: ['ES256'] }
}

it('the key needs no name where up to five fit, and is the one that verifies', async () => {
  const others = ['a', 'b', 'c', 'd'].map((kid) => ecKey(kid))
  for (const rules of [await inFile(...others, ec), await inFile(ec, ecKey())]) {
    expect(await judge(withHeader({ kid: undefined }), rules)).toMatchObject({ user: 'alice' })
    expect(await reason(jwt({ key: stranger, header: { alg: 'ES256' } }), rules)).toBe('bad signature')
  }
})

it('the key must be named where six fit', async () => {
  const rules = await inFile(ec, ...['a', 'b', 'c', 'd', 'e'].map((kid) => ecKey(kid)))
  expect(await reason(withHeader({ kid: undefined }), rules)).toMatch(/too many keys/)
  expect(await judge(withHeader({}), rules)).toMatchObject({ user: 'alice' })
})

it('the key of another name is not tried for a token that names one', async () => {
  expect(await reason(withHeader({ kid: 'b' }), await inFile(ec, ecKey('b')))).toBe('bad signature')
})

it('the key is a shared secret or the one before it, while both are named', async () => {
  const [secret, previous] = ['new', 'old'].map((name) => name.padEnd(32, '-secret')) as [string, string]
  const both = { keys: { kind: 'secret', secret, previous } as const, algorithms: ['HS256'] }
  for (const key of [secret, previous]) {
    expect(await judge(jwt({ alg: 'HS256', key }), both)).toMatchObject({ user: 'alice' })
  }
  const alone = { ...both, keys: { kind: 'secret', secret } as const }
  expect(await reason(jwt({ alg: 'HS256', key: previous }), alone)).toBe('bad signature')
})

it('the key is one of ten that are tried for one token, whatever rules its issuer has', async () => {
  const rules = (secret: string) => ({ keys: { kind: 'secret', secret } as const, algorithms: ['HS256'] })
  const secrets = Array.from({ length: 11 }, (_, i) => `${i}`.padStart(32, 'secret'))
  const { ask } = await bench(secrets.map(rules))
  const responses = await Promise.all(secrets.map((key) => ask(jwt({ alg: 'HS256', key }))))
  expect(responses.filter((answer) => 'user' in answer)).toHaveLength(10)
})

describe('the form of the token', () => {
  it.each([
    ['crit', { crit: ['exp'], exp: 1 }],
    ['an unencoded payload', { b64: false, crit: ['b64'] }],
    ['b64 set to its default', { b64: true }],
    ['compression', { zip: 'DEF' }],
  ])('the form of the token with %s is refused, though well signed', async (_, header) => {
    expect(await reason(withHeader(header))).toBe('malformed JWT')
  })

  it('the form of the token of an encrypted token, or of one in JSON, is refused', async () => {
    const jwe = [
      b64({ alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2c: 1e9, p2s: 'AAAA' }),
      'AAAA',
      'AAAA',
      'AAAA',
      'AAAA',
    ].join('.')
    expect(await reason(jwe)).toBe('malformed JWT')
    const [header, payload, signature] = jwt({ key: ec }).split('.')
    expect(await judge(JSON.stringify({ protected: header, payload, signature }))).toMatchObject({
      code: 'unauthorized',
    })
    expect(await judge(b64({ protected: header, payload, signature }))).toMatchObject({ code: 'unauthorized' })
    expect(await reason(`${b64({ protected: header, payload, signature })}..`)).toBe('malformed JWT')
  })

  it.each([
    '.',
    '..',
    '...',
    'a.b',
    'e30.e30.',
    '.e30.e30',
    'e30..e30',
    'e30.e30.e30.',
    'W10.W10.AAAA',
    'bnVsbA.bnVsbA.AAAA',
  ])('the token %j is refused', async (token) => {
    expect(await reason(token)).toBe('malformed JWT')
  })

  it('the form of the token has one spelling: another text of the same bytes is refused', async () => {
    const token = jwt({ alg: 'RS256', key: rsa })
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // 256 bytes leave 4 unused bits in the last character.
    const last = alphabet[alphabet.indexOf(token.at(-1) ?? '') + 1]
    const [header, payload, signature] = token.split('.') as [string, string, string]
    expect(Buffer.from(`${signature.slice(0, -1)}${last}`, 'base64url')).toEqual(Buffer.from(signature, 'base64url'))
    expect(await reason(token.slice(0, -1) + last)).toBe('malformed JWT')
    expect(await reason(`${token}==`)).toBe('malformed JWT')
    const standard = signature.replaceAll('-', '+').replaceAll('_', '/')
    if (standard !== signature) expect(await reason(`${header}.${payload}.${standard}`)).toBe('malformed JWT')
    expect(await judge(token)).toMatchObject({ user: 'alice' })
  })

  it('the form of the token has no key twice in header or payload', async () => {
    const payload = JSON.stringify(claims())
    expect(await reason(jwt({ key: ec, payload: `${payload.slice(0, -1)},"sub":"bob"}` }))).toBe('malformed JWT')
    expect(await reason(jwt({ key: ec, header: '{"alg":"none","alg":"ES256","kid":"ec-1"}' }))).toBe('malformed JWT')
  })

  it('the form of the token has a header of 1 KiB at most', async () => {
    const base = JSON.stringify({ alg: 'ES256', kid: 'ec-1', x: '' })
    const header = (bytes: number) => base.replace('"x":""', `"x":"${'x'.repeat(bytes - base.length)}"`)
    expect(await judge(jwt({ key: ec, header: header(1024) }))).toMatchObject({ user: 'alice' })
    expect(await reason(jwt({ key: ec, header: header(1025) }))).toBe('the header of the JWT has more than 1 KiB')
  })

  it.each(['header', 'payload'])('the form of the token is not nested deeper than 32 in its %s', async (part) => {
    const nested = (object: object, depth: number) =>
      `${JSON.stringify(object).slice(0, -1)},"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
    const of = (depth: number) =>
      part === 'header'
        ? jwt({ key: ec, header: nested({ alg: 'ES256', kid: 'ec-1' }, depth) })
        : jwt({ key: ec, payload: nested(claims(), depth) })
    expect(await judge(of(32))).toMatchObject({ user: 'alice' })
    expect(await reason(of(33))).toBe('malformed JWT')
  })

  it('the form of the token is judged by its header first, whatever is in its payload', async () => {
    expect(await reason(`${b64({ alg: 'x' })}.${b64('no JSON')}.AAAA`)).toBe('alg is not allowed for the issuer')
    expect(await reason(`${b64({ alg: 'ES256' })}.${b64('{"iss":"other",')}.AAAA`)).toBe('unknown issuer')
  })

  it('the form of the token may escape the name of its issuer, and not the name of that claim', async () => {
    const payload = JSON.stringify(claims())
    const escaped = payload.replace('https://', 'https:\\/\\/')
    expect(escaped).not.toBe(payload)
    expect(await judge(jwt({ key: ec, payload: escaped }))).toMatchObject({ user: 'alice' })
    expect(await reason(jwt({ key: ec, payload: payload.replace('"iss"', '"\\u0069ss"') }))).toBe('unknown issuer')
    expect(await reason(jwt({ key: ec, payload: `${payload.slice(0, -1)},"\\u0069ss":"other"}` }))).toBe(
      'malformed JWT',
    )
  })

  it.each([8, 64, 1024])('the form of the token of %i KiB is refused unread', async (kib) => {
    const token = withClaims({ filler: 'x'.repeat(kib * 1024) })
    expect(await judge(token)).toMatchObject({ code: 'headers_too_large' })
  })

  it('the form of the token has three parts, none of them empty', async () => {
    const token = jwt({ key: ec })
    expect(await reason(`${token}.AAAA`)).toBe('malformed JWT')
    expect(await reason(token.slice(0, token.lastIndexOf('.') + 1))).toBe('malformed JWT')
    expect(await reason(token.slice(0, token.lastIndexOf('.')))).toBe('malformed JWT')
  })

  it.each([
    [undefined, 8192],
    [1024, 8192],
    [20_000, 20_000],
  ])(
    'where heads have %s bytes ends at %i characters, which is no fault of the credential',
    async (maxCredential, max) => {
      const of = (filler: number) => withClaims({ filler: 'x'.repeat(filler) })
      let filler = Math.floor((max - 400) * 0.75)
      while (of(filler + 1).length <= max) filler++
      const { ask, seen } = await bench([{ keys: keysFile }], maxCredential === undefined ? {} : { maxCredential })
      const longest = of(filler)
      for (let i = 0; i < 2; i++) expect(await ask(longest)).toMatchObject({ user: 'alice' })
      expect(seen).toContainEqual({ type: 'credential_checked', cached: true })
      expect(await ask(of(filler + 1))).toMatchObject({ code: 'headers_too_large' })
      // Remembered by its hash, a long one is not taken for another.
      const forged = `${longest.slice(0, -8)}${longest.at(-8) === 'A' ? 'B' : 'A'}${longest.slice(-7)}`
      expect(await ask(forged)).toMatchObject({ code: 'unauthorized' })
    },
  )
})

describe('a payload of many values', () => {
  const many = (changes: Record<string, unknown> = {}) =>
    withClaims({ groups: Array.from({ length: 200 }, (_, i) => i), ...changes })

  it('a payload of many values is good where its signature is', async () => {
    expect(await judge(many())).toMatchObject({ user: 'alice' })
    expect(await judge(many({ sub: 42 }))).toMatchObject({ user: '42' })
  })

  it('a payload of many values is held against all rules that others are', async () => {
    expect(await reason(many({ aud: 'other' }))).toContain('meant for another audience')
    expect(await reason(many({ exp: 1 }))).toBe('expired')
    expect(await reason(many({ sub: '' }))).toBe('sub is no user id')
    expect(await reason(many({ iss: 'other' }))).toBe('unknown issuer')
    const twice = JSON.stringify(claims({ groups: Array(200).fill(0) }))
    expect(await reason(jwt({ key: ec, payload: `${twice.slice(0, -1)},"sub":"bob"}` }))).toBe('malformed JWT')
    expect(await reason(jwt({ key: ec, payload: `${twice.slice(0, -1)},}` }))).toBe('malformed JWT')
  })

  it('a payload of many values is not looked into before its signature holds', async () => {
    const forged = (payload: unknown) => reason(jwt({ key: stranger, payload }))
    expect(await forged(claims({ groups: Array(200).fill(0), exp: 1 }))).toBe('bad signature')
    expect(await forged(claims({ exp: 1 }))).toBe('expired')
  })

  it('a payload of many values finds the rules of its audience among several of its issuer', async () => {
    const { outcome } = await bench([
      { keys: keysFile, audiences: ['web'], userClaim: 'email' },
      { keys: keysFile, audiences: ['app'] },
    ])
    expect(await outcome(many({ aud: 'app' }))).toBe('alice')
    expect(await outcome(many({ aud: 'web', email: 'a@example.org' }))).toBe('a@example.org')
  })
})

describe('a check of a signature', () => {
  /** Places that are counted. */
  function places(most = Number.POSITIVE_INFINITY) {
    const full = denial('overloaded', 'No place.')
    const counted = { held: 0, reserved: [] as number[], left: [] as number[], asked: [] as boolean[] }
    const take = () => {
      let isIn = false
      const enter = (cost: number, isLong: boolean) => {
        counted.asked.push(isLong)
        if (!isIn && counted.held >= most) return full
        if (!isIn) counted.held++
        isIn = true
        counted.reserved.push(cost)
        return null
      }
      const leave = (failed: number) => {
        if (isIn) counted.held--
        counted.left.push(failed)
      }
      return { party: '', enter, leave }
    }
    return { counted, take }
  }
  const forged = (alg: string, kid?: string, sub = 'alice') =>
    jwt({
      alg,
      header: { alg, ...(kid !== undefined && { kid }) },
      key: forgers[alg] as TestKey,
      payload: claims({ sub }),
    })
  const forgers: Record<string, TestKey> = {
    ES256: ecKey(),
    ES384: ecKey(undefined, 'P-384'),
    ES512: ecKey(undefined, 'P-521'),
    RS256: rsaKey(),
    EdDSA: edKey(),
  }
  const all = { algorithms: ['ES256', 'ES384', 'ES512', 'RS256', 'EdDSA'] }

  it('a check of a signature is made for everybody with an RSA key of the usual length', async () => {
    const { auth } = await open(all)
    const { counted, take } = places()
    expect(await auth.authenticate(`Bearer ${forged('RS256', 'rsa-1')}`, take)).toMatchObject({
      reason: 'bad signature',
    })
    expect(counted.asked).toEqual([])
  })

  it.each([
    ['ES256', ec, 1, false],
    ['EdDSA', ed, 1, false],
    ['ES384', ec384, 5, true],
    ['ES512', ec512, 10, true],
  ])(
    'a check of a signature is asked for with %s, and says what it cost where it was for nothing',
    async (alg, key, cost, isLong) => {
      const { auth } = await open(all)
      const { counted, take } = places()
      const answer = await auth.authenticate(`Bearer ${forged(alg, key.jwk.kid)}`, take)
      expect(answer).toMatchObject({ reason: 'bad signature' })
      expect(await auth.authenticate(`Bearer ${jwt({ alg, key })}`, take)).toMatchObject({ user: 'alice' })
      expect(counted).toMatchObject({ asked: [isLong, isLong], reserved: [cost, cost], left: [cost, 0] })
    },
  )

  it.each([
    [2048, []],
    [4096, [false]],
    [4104, [true]],
  ])(
    'a check of a signature with an RSA key of %i bits is asked for as %j',
    async (bits, asked) => {
      const key = rsaKey('of its length', bits)
      const path = join(folder, `${bits}.json`)
      await writeFile(path, JSON.stringify(keySet(key)))
      const { auth } = await bench([{ keys: { kind: 'file', path }, algorithms: ['RS256'] }])
      const { counted, take } = places()
      expect(await auth.authenticate(`Bearer ${jwt({ alg: 'RS256', key })}`, take)).toMatchObject({ user: 'alice' })
      expect(counted.asked).toEqual(asked)
    },
    60_000,
  )

  it('a check of a signature counts for a large token with any key', async () => {
    const { auth } = await open(all)
    const { counted, take } = places()
    const of = (bytes: number) => {
      const base = claims({ filler: '' })
      return jwt({
        alg: 'RS256',
        key: { ...(forgers.RS256 as TestKey), jwk: rsa.jwk },
        payload: { ...base, filler: 'x'.repeat(bytes - JSON.stringify(base).length) },
      })
    }
    expect(await auth.authenticate(`Bearer ${of(2048)}`, take)).toMatchObject({ reason: 'bad signature' })
    expect(counted.left).toEqual([])
    expect(await auth.authenticate(`Bearer ${of(2049)}`, take)).toMatchObject({ reason: 'bad signature' })
    expect(counted).toMatchObject({ asked: [false], left: [1] })
  })

  it('a check of a signature counts for a large token that its claims refuse, since those are read behind it', async () => {
    const { auth } = await open(all)
    const { counted, take } = places()
    const expired = (filler: string) => jwt({ alg: 'RS256', key: rsa, payload: claims({ exp: 1, filler }) })
    expect(await auth.authenticate(`Bearer ${expired('')}`, take)).toMatchObject({ reason: 'expired' })
    expect(counted.asked).toEqual([])
    expect(await auth.authenticate(`Bearer ${expired('x'.repeat(2048))}`, take)).toMatchObject({ reason: 'expired' })
    expect(counted).toMatchObject({ asked: [false], left: [1] })
  })

  it('a check of a signature counts from the second key on, where the token names none', async () => {
    const path = join(folder, 'several.json')
    await writeFile(path, JSON.stringify(keySet(rsaKey('a'), rsaKey('b'), rsaKey('c'))))
    const { auth } = await bench([{ keys: { kind: 'file', path }, algorithms: ['RS256'] }])
    const { counted, take } = places()
    expect(await auth.authenticate(`Bearer ${forged('RS256')}`, take)).toMatchObject({ reason: 'bad signature' })
    expect(counted).toMatchObject({ reserved: [1, 1], left: [2] })
  }, 60_000)

  it('a check of a signature that finds no place is not made, and the credential is not called bad', async () => {
    const { auth } = await open(all)
    const { counted, take } = places(0)
    expect(await auth.authenticate(`Bearer ${jwt({ alg: 'ES512', key: ec512 })}`, take)).toMatchObject({
      code: 'overloaded',
    })
    expect(counted).toMatchObject({ reserved: [], left: [0] })
    expect(await auth.authenticate(`Bearer ${jwt({ alg: 'RS256', key: rsa })}`, take)).toMatchObject({ user: 'alice' })
  })

  it('a check of a signature of a credential that is remembered needs none', async () => {
    const { auth } = await open(all)
    const token = jwt({ alg: 'ES512', key: ec512 })
    await auth.authenticate(`Bearer ${token}`)
    expect(auth.authenticate(`Bearer ${token}`, places(0).take)).toMatchObject({ user: 'alice' })
  })

  it('a check of a signature gives all places back, whatever is sent at once', async () => {
    const { auth } = await open(all)
    const { counted, take } = places(8)
    const tokens = Array.from({ length: 40 }, (_, i) => forged('ES384', 'ec-384', `user ${i}`))
    const responses = await Promise.all(tokens.map((token) => auth.authenticate(`Bearer ${token}`, take)))
    const codes = responses.map((answer) => ('code' in answer ? answer.code : ''))
    expect(codes.filter((code) => code === 'unauthorized')).toHaveLength(8)
    expect(codes.filter((code) => code === 'overloaded')).toHaveLength(32)
    expect(counted.held).toBe(0)
    expect(counted.left.filter((spent) => spent > 0)).toEqual(Array(8).fill(5))
  })
})

describe('a signature', () => {
  const algorithms = ['HS256', 'RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']
  const keys: Record<string, TestKey | string> = {
    HS256: SECRET,
    RS256: rsa,
    PS256: rsa,
    ES256: ec,
    ES384: ec384,
    EdDSA: ed,
  }

  it.each(algorithms)(
    'a signature of any bytes is refused with %s, and is no fault of ours',
    async (alg) => {
      const key = keys[alg] as TestKey | string
      const rules = typeof key === 'string' ? { keys: { kind: 'secret', secret: key } as const } : {}
      const { ask } = await open({ algorithms: [alg], ...rules })
      const good = jwt({ alg, key })
      expect(await ask(good)).toMatchObject({ user: 'alice' })
      const [input, signature] = [
        good.slice(0, good.lastIndexOf('.')),
        Buffer.from(good.split('.')[2] ?? '', 'base64url'),
      ]
      const bytes = fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 600 }),
        fc.uint8Array({ minLength: signature.length, maxLength: signature.length }),
        fc.constantFrom(0, 255).map((byte) => new Uint8Array(signature.length).fill(byte)),
        fc.nat({ max: 8 * signature.length - 1 }).map((bit) => flipped(signature, bit)),
      )
      await fc.assert(
        fc.asyncProperty(bytes, async (other) => {
          fc.pre(!signature.equals(other))
          expect(await ask(`${input}.${Buffer.from(other).toString('base64url')}`)).toMatchObject({
            code: 'unauthorized',
          })
        }),
        { numRuns: alg === 'ES384' ? 50 : 200 },
      )
    },
    60_000,
  )

  function flipped(bytes: Buffer, bit: number): Uint8Array {
    const copy = Uint8Array.from(bytes)
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return copy
  }
})

describe('the times', () => {
  it.each([undefined, null, '1', String(NOW / 1000 + 300), [NOW / 1000 + 300], true, {}])(
    'exp must be a number, not %j',
    async (exp) => {
      expect(await reason(withClaims({ exp }))).toBe('exp is missing or no number')
    },
  )

  it('exp may not be infinite', async () => {
    const payload = JSON.stringify(claims({ exp: 0 })).replace('"exp":0', '"exp":1e999')
    expect(await reason(jwt({ key: ec, payload }))).toBe('exp is missing or no number')
  })

  it.each([0, -1, -1e12, NOW / 1000 - 5, NOW / 1000 - 86400, 0.5])(
    'exp %d is over, also with the tolerance',
    async (exp) => {
      expect(await reason(withClaims({ exp }))).toBe('expired')
    },
  )

  it('exp is exclusive and has the tolerance', async () => {
    expect(await judge(withClaims({ exp: NOW / 1000 - 4 }))).toMatchObject({ user: 'alice' })
    expect(await reason(withClaims({ exp: NOW / 1000 }), { clockToleranceSeconds: 0 })).toBe('expired')
    expect(await judge(withClaims({ exp: NOW / 1000 + 1 }), { clockToleranceSeconds: 0 })).toMatchObject({
      user: 'alice',
    })
  })

  it('exp may be far away: the issuer decides that', async () => {
    expect(await judge(withClaims({ exp: 1e12 }))).toMatchObject({ user: 'alice' })
  })

  it.each(['nbf', 'iat'])('%s may not be in the future, beyond the tolerance', async (claim) => {
    expect(await reason(withClaims({ [claim]: NOW / 1000 + 6 }))).toBe(`${claim} is in the future`)
    expect(await judge(withClaims({ [claim]: NOW / 1000 + 5 }))).toMatchObject({ user: 'alice' })
    expect(await reason(withClaims({ [claim]: 1e12 }))).toBe(`${claim} is in the future`)
    expect(await reason(withClaims({ [claim]: '0' }))).toBe(`${claim} is no number`)
    expect(await reason(withClaims({ [claim]: null }))).toBe(`${claim} is no number`)
  })
})

describe('issuer and audience', () => {
  it.each([AUDIENCE, [AUDIENCE], ['other', AUDIENCE]])('aud %j is ours', async (aud) => {
    expect(await judge(withClaims({ aud }))).toMatchObject({ user: 'alice' })
  })

  it.each([
    undefined,
    null,
    '',
    'score',
    'score-gateway-2',
    'SCORE-GATEWAY',
    'score-gateway ',
    'score-gateway other',
    [],
    ['other'],
    [[AUDIENCE]],
    [AUDIENCE, 1],
    { 0: AUDIENCE },
  ])('aud %j is not', async (aud) => {
    expect(await reason(withClaims({ aud }))).toContain('meant for another audience')
  })

  it.each([
    undefined,
    null,
    '',
    `${ISSUER}/`,
    `${ISSUER}#`,
    ISSUER.toUpperCase(),
    'https://id.example.org.evil.example',
    [ISSUER],
    '__proto__',
  ])('iss %j is unknown', async (iss) => {
    expect(await reason(withClaims({ iss }))).toBe('unknown issuer')
  })

  it('issuer and audience keeps tenants apart: the key of one does not sign for another, though their kids are the same', async () => {
    const a = { kind: 'file', path: join(folder, 'a.json') } as const
    const b = { kind: 'file', path: join(folder, 'b.json') } as const
    await writeFile(a.path, JSON.stringify(keySet(ec)))
    await writeFile(b.path, JSON.stringify(keySet(stranger)))
    const { outcome } = await bench([
      { issuer: 'https://id.example.org/a', keys: a },
      { issuer: 'https://id.example.org/b', keys: b },
    ])
    expect(await outcome(jwt({ key: ec, payload: claims({ iss: 'https://id.example.org/a' }) }))).toBe('alice')
    expect(await outcome(jwt({ key: ec, payload: claims({ iss: 'https://id.example.org/b' }) }))).toBe('unauthorized')
    expect(await outcome(jwt({ key: stranger, payload: claims({ iss: 'https://id.example.org/b' }) }))).toBe('alice')
  })

  it('issuer and audience lets one issuer have several audiences with rules of their own', async () => {
    const { outcome } = await bench([
      { keys: keysFile, audiences: ['web'], userClaim: 'email' },
      { keys: keysFile, audiences: ['app', 'tool'] },
    ])
    const token = (aud: unknown) => jwt({ key: ec, payload: claims({ aud, email: 'alice@example.org' }) })
    expect(await outcome(token('web'))).toBe('alice@example.org')
    expect(await outcome(token('tool'))).toBe('alice')
    expect(await outcome(token('other'))).toBe('unauthorized')
  })

  it('issuer and audience tries the next rules of an issuer where the first ones refuse', async () => {
    const { outcome } = await bench([
      { keys: { kind: 'secret', secret: SECRET }, algorithms: ['HS256'] },
      { keys: { kind: 'secret', secret: `another ${SECRET}` }, algorithms: ['HS256'] },
    ])
    expect(await outcome(jwt({ alg: 'HS256', key: `another ${SECRET}` }))).toBe('alice')
    expect(await outcome(jwt({ alg: 'HS256', key: 'unknown' }))).toBe('unauthorized')
  })

  it('issuer and audience says that it cannot know where the keys of some rules cannot be had, whatever the other rules say', async () => {
    const server = await serve((_, response) => response.writeHead(503).end())
    const missing = { keys: { kind: 'url', url: server.url } } as const
    const other = { keys: keysFile }
    for (const rules of [
      [missing, other],
      [other, missing],
    ]) {
      const { outcome, auth } = await bench(rules)
      expect(await outcome(jwt({ key: stranger }))).toBe('overloaded')
      expect(await outcome(jwt({ key: ec }))).toBe('alice')
      auth.close()
    }
  })

  it('issuer and audience asks for the type of token that is configured', async () => {
    const typ = ['at+jwt']
    for (const good of ['at+jwt', 'AT+JWT', 'application/at+jwt'])
      expect(await judge(withHeader({ typ: good }), { typ })).toMatchObject({ user: 'alice' })
    for (const bad of [undefined, 'JWT', 'id_token', ''])
      expect(await reason(withHeader({ typ: bad }), { typ })).toBe('typ is not allowed for the issuer')
    expect(await reason(withHeader({ typ: ['at+jwt'] }), { typ })).toBe('malformed JWT')
    // RFC 7515, section 4.1.9: only where no other slash is in it may "application/" be left out.
    expect(await reason(withHeader({ typ: 'application/a/b' }), { typ: ['a/b'] })).toBe(
      'typ is not allowed for the issuer',
    )
  })
})

it.each([
  undefined,
  null,
  '',
  true,
  1.5,
  2 ** 53,
  ['alice'],
  { name: 'alice' },
  '.',
  '..',
  'a'.repeat(257),
  'ü'.repeat(129),
  'a\u0000',
  'a\nb',
  '\u007f',
  '\u0085',
])('the user cannot be %j', async (sub) => {
  expect(await reason(withClaims({ sub }))).toBe('sub is no user id')
})

const spelt = (number: string, more = '') =>
  jwt({ key: ec, payload: JSON.stringify(claims({ sub: '#' })).replace('"#"', `${number}${more}`) })

it.each(['0', '42', '-7', '9007199254740991', '-9007199254740991'])(
  'the user can be the integer %s, and is its digits',
  async (number) => {
    expect(await judge(spelt(number))).toEqual(callerOf(number, 'jwt'))
  },
)

it.each(['42.0', '4.2e1', '42e0', '-0', '0.0', '1e3', '9007199254740992', '9007199254740993', '1e400', '-1.5'])(
  'the user cannot be the number %s, which has another spelling or is rounded',
  async (number) => {
    expect(await reason(spelt(number))).toBe('sub is no user id')
  },
)

it('the user is that of the token itself, whatever objects in it have a member of the name', async () => {
  const more = ',"a":{"sub":42.0,"b":[{"sub":1e1}]},"":{"sub":7}'
  expect(await judge(spelt('42', more))).toMatchObject({ user: '42' })
  const before = JSON.stringify(claims({ sub: '#' }))
    .replace('{', '{"a":{"sub":7},')
    .replace('"#"', '42')
  expect(await judge(jwt({ key: ec, payload: before }))).toMatchObject({ user: '42' })
  expect(await reason(spelt('42.0', more.replaceAll('42.0', '42')))).toBe('sub is no user id')
})

it('the user cannot be a text that is no Unicode', async () => {
  const payload = JSON.stringify(claims({ sub: '#' })).replace('"#"', '"a\\ud800"')
  expect(await reason(jwt({ key: ec, payload }))).toBe('sub is no user id')
})

it.each(['a', '__proto__', 'constructor', 'a:b', '{x}', ' alice', 'Ａlice', '🎵', 'a'.repeat(256), 'ü'.repeat(128)])(
  'the user can be %j, and is left as it is',
  async (sub) => {
    expect(await judge(withClaims({ sub }))).toEqual(callerOf(sub, 'jwt'))
  },
)

it('the user keeps composed and decomposed spellings, and cases, apart', async () => {
  const { ask } = await open()
  const users = ['\u00e9', 'e\u0301', 'Alice', 'alice']
  const responses = await Promise.all(users.map((sub) => ask(withClaims({ sub }))))
  expect(responses.map((answer) => 'user' in answer && answer.user)).toEqual(users)
})

it.each(['__proto__', 'constructor', 'toString', 'email'])(
  'the user is not found in a claim %s that the token does not have',
  async (userClaim) => {
    expect(await judge(withClaims({}), { userClaim })).toMatchObject({ code: 'unauthorized' })
  },
)

it('a denial tells the client little and repeats nothing of the token', async () => {
  const canary = 'canary'
  const tokens = [
    withClaims({ iss: canary }),
    withClaims({ aud: canary }),
    withClaims({ exp: canary }),
    withClaims({ sub: [canary] }),
    withHeader({ kid: canary }),
    withHeader({ alg: canary }),
    `${canary}.${canary}.${canary}`,
  ]
  for (const token of tokens) {
    const answer = await judge(token)
    expect(answer).toMatchObject({ code: 'unauthorized' })
    expect(JSON.stringify(answer)).not.toContain(canary)
    expect((answer as Denial).headers?.['WWW-Authenticate']).toMatch(/error="invalid_token"/)
  }
})
