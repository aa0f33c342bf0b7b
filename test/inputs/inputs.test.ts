import { describe, expect, it } from 'vitest'
import { callerHeaderProblem, priceHeaderProblem, repetitionHeaderProblem } from '../../src/config/headers.ts'
import { headerRules } from '../../src/forward/field-fates.ts'
import { outgoingHead } from '../../src/forward/headers.ts'
import { HOP_BY_HOP, isFact, NEVER_IN_TRAILERS, OVERRIDES } from '../../src/inputs/header-names.ts'
import { credentialPlaces, mayBeNominated, nameRules } from '../../src/inputs/inputs.ts'

/** The rules of names, the check of a file and the forwarder hold the same of each field. */

const NAMES = [
  ...[...HOP_BY_HOP, ...OVERRIDES, ...NEVER_IN_TRAILERS],
  ...['forwarded', 'x-real-ip', 'true-client-ip', 'client-cert', 'x-forwarded-user', 'x-ssl-client-verify', 'x-scheme'],
  ...['x-tollgate-user', 'x-request-id', 'proxy-connection', 'sec-websocket-key', 'sec-websocket-protocol', 'referer'],
  ...['origin', 'accept', 'user-agent', 'from', 'idempotency-key', 'x-api-key', 'x-key', 'etag', 'if-match'],
]

/** What the upstream gets of a field that a stranger sends. */
function passed(name: string, places = credentialPlaces({})): string[] {
  const rules = headerRules({ headers: {}, passAuthorization: false, credentials: places })
  const origin = {
    peer: '192.0.2.1',
    encrypted: false,
    httpVersion: '1.1',
    caller: null,
    requestId: 'r',
    method: 'GET',
  }
  const { headers } = outgoingHead([name, '7f3a'], origin, rules)
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1]?.toLowerCase() === name)
}

describe('a name that check takes', () => {
  const names = NAMES.filter((name) => repetitionHeaderProblem(name) === null)
  it.each(names)('for keys of repetitions, %s, reaches the upstream, and no Connection takes it off', (name) => {
    expect(passed(name)).toEqual(['7f3a'])
    expect(mayBeNominated(name, nameRules({ repetitions: [name] }, []))).toBe(false)
  })

  const prices = NAMES.filter((name) => priceHeaderProblem(name) === null)
  it.each(prices)('for prices, %s, reaches the upstream, and no Connection takes it off', (name) => {
    expect(passed(name)).toEqual(['7f3a'])
    expect(mayBeNominated(name, nameRules({ prices: [name] }, []))).toBe(false)
  })

  it('for keys of repetitions is none of a proxy, of a connection, or of another request', () => {
    const taken = NAMES.filter((name) => HOP_BY_HOP.has(name) || OVERRIDES.has(name) || isFact(name))
    expect(taken.filter((name) => names.includes(name))).toEqual([])
    expect(names).toContain('idempotency-key')
  })

  const callers = NAMES.filter((name) => callerHeaderProblem(name) === null && !isFact(name))
  it.each(callers)('for keys that only the upstream can check, %s, reaches it', (name) => {
    const unverifiedKeys = { kind: 'header', name, scheme: null } as const
    expect(passed(name, credentialPlaces({ unverifiedKeys }))).toEqual(['7f3a'])
    expect(mayBeNominated(name, nameRules({ unverifiedKeys }, []))).toBe(false)
  })
})

it.each([
  ...['Client-Cert', 'X-Client-Cert', 'X-SSL-Client-Verify', 'X-Forwarded-Client-Cert', 'X-SSL-Cert', 'X-Client-DN'],
  ...['X-ARR-ClientCert', 'X-Amzn-Mtls-Clientcert', 'X-Amzn-Mtls-Clientcert-Subject', 'X-TLS-Client-Cert'],
])('a certificate that %s reports is a fact of a trusted proxy, and nobody else can report one', (name) => {
  expect([isFact(name.toLowerCase()), passed(name.toLowerCase())]).toEqual([true, []])
})

describe('what Connection may name', () => {
  const rules = nameRules(
    {
      from: [
        { kind: 'cookie', name: 's' },
        { kind: 'header', name: 'X-Token', scheme: null },
      ],
      headers: ['X-Fixed'],
      removeHeaders: ['X-Gone'],
    },
    ['underscore_names', 'punctuation_names'],
  )
  it.each([
    'x-token',
    'X_Token',
    'x-fixed',
    'X-Gone',
    'cookie',
    'origin',
    'X-Forwarded-Anything',
    'X_Real_IP',
    'x.token',
  ])('what Connection may name is not %s', (name) => expect(mayBeNominated(name, rules)).toBe(false))
  it.each(['te', 'upgrade', 'close', 'keep-alive', 'x-hop', 'x-tokens', ''])('what Connection may name is %j', (name) =>
    expect(mayBeNominated(name, rules)).toBe(true),
  )
})
