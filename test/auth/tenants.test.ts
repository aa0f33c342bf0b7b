import { expect, it } from 'vitest'
import type { IssuerOptions } from '../../src/auth/issuer.ts'
import { bench, claims, ecKey, jwt, serve, serveJson } from './support.ts'

const TEMPLATE = 'https://login.microsoftonline.com/{tenantid}/v2.0'
const ACME = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const BETA = '9188040d-6c67-4c5b-b112-36a304b66dad'
const issOf = (tenant: string): string => TEMPLATE.replace('{tenantid}', tenant)

const SECRET = 'x'.repeat(64)

it('an issuer of many tenants takes a token whose issuer is the template with the token’s own tenant', async () => {
  expect(await reasonFor({ iss: issOf(ACME), tid: ACME })).toBe('alice')
  expect(await reasonFor({ iss: issOf('acme.example.org'), tid: 'acme.example.org' })).toBe('alice')
})

it.each([
  ['names another tenant than the token is of', { iss: issOf(ACME), tid: BETA }],
  ['is of a token without a tenant', { iss: issOf(ACME) }],
  ['is of a token whose tenant is a number', { iss: issOf('7'), tid: 7 }],
  ['is the template itself', { iss: TEMPLATE, tid: '{tenantid}' }],
  ['has no tenant', { iss: issOf(''), tid: '' }],
  ['has more than a tenant in its place', { iss: issOf(`${ACME}/v2.0/x`), tid: `${ACME}/v2.0/x` }],
  ['begins otherwise', { iss: `https://evil.example/${ACME}/v2.0`, tid: ACME }],
  ['ends otherwise', { iss: `https://login.microsoftonline.com/${ACME}/v1.0`, tid: ACME }],
  ['is missing', { iss: undefined, tid: ACME }],
  ['is a list', { iss: [issOf(ACME)], tid: ACME }],
])('an issuer of many tenants refuses a token whose issuer %s', async (_, changes) => {
  expect(await reasonFor(changes)).toMatch(/^unknown issuer/)
})

it('an issuer of many tenants takes the tokens of listed tenants only, where they are listed', async () => {
  const issuer = { tenants: [ACME] }
  expect(await reasonFor({ iss: issOf(ACME), tid: ACME }, issuer)).toBe('alice')
  expect(await reasonFor({ iss: issOf(BETA), tid: BETA }, issuer)).toBe('unknown issuer')
  // What is read of the issuer before the token is parsed is the tenant of the list.
  expect(await reasonFor({ iss: issOf(ACME), tid: BETA }, issuer)).toMatch(/^unknown issuer/)
})

it('an issuer of many tenants stands beside issuers of one name, whose tokens need no tenant', async () => {
  const { ask, auth } = await bench([OF_TENANTS, { keys: OF_TENANTS.keys, algorithms: ['HS256'] }])
  expect(await ask(jwt({ key: SECRET, alg: 'HS256' }))).toMatchObject({ user: 'alice' })
  auth.close()
})

it('an issuer of many tenants has keys that are for one tenant only: they sign for no other', async () => {
  const [forAll, forBeta, plain] = [ecKey('all'), ecKey('beta'), ecKey('plain')]
  const keys = [{ ...forAll.jwk, issuer: TEMPLATE }, { ...forBeta.jwk, issuer: issOf(BETA) }, plain.jwk]
  const server = await serve(serveJson({ keys }))
  const { ask, auth } = await bench([{ ...OF_TENANTS, keys: { kind: 'url', url: server.url }, algorithms: ['ES256'] }])
  const outcome = async (key: typeof forAll, tenant: string) => {
    const answer = await ask(jwt({ key, payload: claims({ iss: issOf(tenant), tid: tenant }) }))
    return 'user' in answer ? answer.user : answer.reason
  }
  for (const key of [forAll, plain]) {
    expect([await outcome(key, ACME), await outcome(key, BETA)]).toEqual(['alice', 'alice'])
  }
  expect(await outcome(forBeta, BETA)).toBe('alice')
  expect(await outcome(forBeta, ACME)).toBe('bad signature')
  auth.close()
})

const OF_TENANTS = {
  issuer: TEMPLATE,
  tenants: 'any',
  keys: { kind: 'secret', secret: SECRET },
  algorithms: ['HS256'],
} as const satisfies Partial<IssuerOptions>

/** The user, or why there is none. */
async function reasonFor(changes: Record<string, unknown>, issuer: Partial<IssuerOptions> = {}) {
  const { ask, auth } = await bench([{ ...OF_TENANTS, ...issuer }])
  const answer = await ask(jwt({ key: SECRET, alg: 'HS256', payload: claims(changes) }))
  auth.close()
  return 'user' in answer ? answer.user : answer.reason
}
