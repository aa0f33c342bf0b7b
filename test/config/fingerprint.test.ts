import { expect, test } from 'vitest'
import { fingerprint } from '../../src/config/fingerprint.ts'
import { parseConfig } from '../../src/config/load.ts'

const SECRET = 'a-shared-secret-of-forty-characters-long'

function of(changes: { readonly [from: string]: string } = {}, env: NodeJS.ProcessEnv = { MODE: 'normal' }): string {
  let text = `
# a comment
listen: 127.0.0.1:8080
upstream: { url: "http://127.0.0.1:9000" }
store: "sqlite::memory:"
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }] }
quota: { mode: "\${MODE}" }
routes:
  - { match: GET /a, category: read, cost: 1 }
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
])('two replicas that differ in %s decide alike', (_what, changes) => {
  expect(of(changes)).toBe(of())
})

test.each([
  ['the cost of a route', { 'cost: 1': 'cost: 2' }],
  ['a route', { 'GET /a': 'GET /b' }],
  ['what a repetition costs', { 'cost: 1': 'cost: 1, idempotency: { replays: 2 }' }],
  ['an issuer', { 'id.test': 'id2.test' }],
  ['who answers preflights', { '# a comment': 'cors: { origins: ["*"] }' }],
  ['what a path may hold', { '# a comment': 'edge: { allow_in_path: [semicolon] }' }],
])('two replicas that differ in %s do not decide alike', (_what, changes) => {
  expect(of(changes)).not.toBe(of())
})

test('two replicas with one file and different variables do not decide alike', () => {
  expect(of({}, { MODE: 'loose' })).not.toBe(of({}, { MODE: 'normal' }))
})
