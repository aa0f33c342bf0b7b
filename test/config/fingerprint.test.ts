import { expect, test } from 'vitest'
import { fingerprint } from '../../src/config/fingerprint.ts'
import { parseConfig } from '../../src/config/load.ts'

const SECRET = 'a-shared-secret-of-forty-characters-long'

type Changes = { readonly [from: string]: string }

const JWKS: Changes = {
  [`secret: ${SECRET}, algorithms: [HS256]`]: 'jwks: "https://id.test/keys", algorithms: [ES256]',
}

const CERTIFICATES: Changes = {
  '# a comment': 'tls: { cert: c.pem, key: k.pem }',
  'auth: {': 'auth: { client_certificate: { ca: ca.pem, user: dns },',
}

function of(changes: Changes = {}, env: NodeJS.ProcessEnv = { MODE: 'normal' }): string {
  let text = `
# a comment
listen: 127.0.0.1:8080
upstream: { url: "http://127.0.0.1:9000" }
store: "sqlite::memory:"
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }] }
quota: { mode: "\${MODE}" }
edge: { trusted_proxies: [10.0.0.0/8] }
routes:
  - { match: GET /a, category: read, cost: 1 }
  - { match: GET /other, category: write, cost: 3 }
`
  for (const [from, to] of Object.entries(changes)) text = text.replace(from, to)
  const loaded = parseConfig(text, 'tollgate.yaml', env)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return fingerprint(loaded.config)
}

test.each([
  ['a comment', { '# a comment': '# another\n# and one more line' }],
  ['its address', { '8080': '8081' }],
  ['the address of its upstream', { '9000': '9001' }],
  ['its store', { ':memory:': './another.db' }],
  ['a secret, which is never in it', { [SECRET]: 'another-secret-of-forty-characters-long!' }],
  ['how many credentials it remembers', { 'auth: {': 'auth: { credential_cache: { max: 5 },' }],
  [
    'the order of the rules',
    {
      '  - { match: GET /a, category: read, cost: 1 }\n': '',
      'cost: 3 }\n': 'cost: 3 }\n  - { match: GET /a, category: read, cost: 1 }\n',
    },
  ],
])('two replicas that differ in %s decide alike', (_what, changes) => {
  expect(of(changes)).toBe(of())
})

test.each<[what: string, changes: Changes, before?: Changes]>([
  ['the cost of a route', { 'cost: 1': 'cost: 2' }],
  ['a route', { 'GET /a': 'GET /b' }],
  ['what a repetition costs', { 'cost: 1': 'cost: 1, idempotency: { replays: 2 }' }],
  ['an issuer', { 'id.test': 'id2.test' }],
  ['where the keys of an issuer are', { ...JWKS, 'id.test/keys': 'id.test/other' }, JWKS],
  ['where credentials may be', { 'auth: {': 'auth: { from: [bearer, { header: X-API-Key }],' }],
  ['what several credentials mean', { 'auth: {': 'auth: { several: first,' }],
  ['keys that nobody verifies', { 'auth: {': 'auth: { unverified_keys: { header: X-API-Key },' }],
  ['users that a proxy names', { 'auth: {': 'auth: { trusted: { user: X-User },' }],
  ['the proxies that are believed', { '10.0.0.0/8': '10.1.0.0/16' }],
  ['whether client certificates can be revoked', { ...CERTIFICATES, 'ca.pem,': 'ca.pem, crl: crl.pem,' }, CERTIFICATES],
  ['callers without a credential', { 'auth: {': 'auth: { anonymous: { by: address },' }],
  ['a trial of credentials', { 'auth: {': 'auth: { shadow: true,' }],
  ['who answers preflights', { '# a comment': 'cors: { origins: ["*"] }' }],
  ['what a path may hold', { 'edge: {': 'edge: { allow_in_path: [semicolon],' }],
])('two replicas that differ in %s do not decide alike', (_what, changes, before = {}) => {
  expect(of(changes)).not.toBe(of(before))
})

test('two replicas with one file and different variables do not decide alike', () => {
  expect(of({}, { MODE: 'loose' })).not.toBe(of({}, { MODE: 'normal' }))
})
