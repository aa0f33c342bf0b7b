import { expect, it } from 'vitest'
import { AuthSetupError, type IssuerOptions } from '../../src/auth/authenticator.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { bench, serve } from './support.ts'

async function problems(...issuers: Partial<IssuerOptions>[]): Promise<readonly string[]> {
  try {
    ;(await bench(issuers)).auth.close()
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(AuthSetupError)
    return (error as AuthSetupError).problems
  }
}

const byUrl = (url: string) => problems({ keys: { kind: 'url', url } })

it.each([
  'https://id.example.org/jwks',
  'http://127.0.0.1:1/jwks',
  'http://127.1.2.3:1/',
  'http://[::1]:1/',
  'http://localhost:1/',
])('the issuers of a configuration may have their keys at %s', async (url) => {
  expect(await byUrl(url)).toEqual([])
})

it.each([
  'http://id.example.org/jwks',
  'http://10.0.0.1/',
  'http://127.0.0.1.example.org/',
  'http://localhost.example.org/',
  'http://128.0.0.1/',
  'ftp://127.0.0.1/',
  'file:///etc/passwd',
  'data:application/json,{}',
])('the issuers of a configuration may not have them at %s, which is not https', async (url) => {
  expect(await byUrl(url)).toEqual([expect.stringMatching(/^auth\.jwt\[0\]\.jwks: not https/)])
})

it('the issuers of a configuration may not have them at what is no URL, or has a password in it', async () => {
  expect(await byUrl('jwks.json')).toEqual(['auth.jwt[0].jwks: not a URL'])
  for (const login of ['a:b', 'a', ':b'])
    expect(await byUrl(`https://${login}@id.example.org/`)).toEqual([
      'auth.jwt[0].jwks: a URL with a user or password in it',
    ])
})

it.each(['none', 'NONE', 'HS256', 'RS1', 'es256', '', '__proto__', 'dir'])(
  'the issuers of a configuration may not allow %j with public keys',
  async (alg) => {
    const keys = { kind: 'url', url: 'https://id.example.org/jwks' } as const
    expect(await problems({ keys, algorithms: ['ES256', alg] })).toEqual([
      `auth.jwt[0].algorithms: ${alg} cannot be used with public keys`,
    ])
  },
)

it.each(['none', 'RS256', 'ES256', 'HS1', 'PBES2-HS256+A128KW'])(
  'the issuers of a configuration may not allow %j with a secret',
  async (alg) => {
    expect(await problems({ algorithms: ['HS256', alg] })).toEqual([
      `auth.jwt[0].algorithms: ${alg} cannot be used with a secret`,
    ])
  },
)

it('the issuers of a configuration must be complete', async () => {
  const good = { algorithms: ['HS256'] }
  expect(await problems({ ...good, issuer: '' })).toEqual(['auth.jwt[0].issuer: is empty'])
  expect(await problems({ ...good, audiences: [] })).toEqual(['auth.jwt[0].audience: is missing or empty'])
  expect(await problems({ ...good, audiences: ['a', ''] })).toEqual(['auth.jwt[0].audience: is missing or empty'])
  expect(await problems({ ...good, algorithms: [] })).toEqual(['auth.jwt[0].algorithms: is empty'])
  expect(await problems({ ...good, userClaim: '' })).toEqual(['auth.jwt[0].user_claim: is empty'])
  expect(await problems({ ...good, clockToleranceSeconds: Number.NaN })).toEqual([
    'auth.jwt[0].clock_tolerance: is not 0 or more',
  ])
})

it('the issuers of a configuration are told all their problems at once, each with its place', async () => {
  const found = await problems(
    { algorithms: ['HS256'] },
    { algorithms: ['HS256'], keys: { kind: 'secret', secret: 'short' } },
    { keys: { kind: 'file', path: '/nowhere/jwks.json' } },
  )
  expect(found).toEqual([
    'auth.jwt[1].secret: secret of 5 bytes is too short: HS256 needs 32 at least',
    expect.stringMatching(/^auth\.jwt\[2\]\.jwks: cannot use key set \/nowhere\/jwks\.json: ENOENT/),
  ])
})

it('where one of them is refused, nothing is heard any more of the keys of the others', async () => {
  const server = await serve((_, response) => response.writeHead(500).end())
  const seen: Observation[] = []
  const issuers = [{ keys: { kind: 'url', url: server.url } } as const, { issuer: '' }]
  await expect(bench(issuers, { observe: (one) => void seen.push(one) })).rejects.toThrow('is empty')
  for (let i = 0; i < 3; i++) await fetch(server.url)
  expect(seen).toEqual([])
})
