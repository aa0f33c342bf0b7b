import { beforeAll, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'
import { rawExchange } from './raw.ts'

/** What `check` warns of because it is compared letter by letter, is: with the requests that the warnings name. */

const CLAIMS = `{ audience: tollgate, secret: ${SECRET}, algorithms: [HS256]`
const ROUTES = `
  - { match: "GET /a/[0-9]+", category: read }
  - { match: "GET /b/{id}", category: read }
  - { match: POST /c, category: read, cost: { body: a.b, values: { 2: 3, "*": 1 } } }
  - { match: "OPTIONS /*", public: true }
  - { match: "* /api/*", category: read }
`

let upstream: Upstream
let app: RunningApp
let warnings: readonly string[]
beforeAll(async () => {
  upstream = await startUpstream()
  const text = yaml(upstream.url, `routes:${ROUTES}`, 'sqlite::memory:', 'headers: { X-Remote-User: "{user}" }')
  const issuers = `jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] },
    ${CLAIMS}, issuer: "https://{tenant}.test" }, ${CLAIMS}, issuer: "https://dotted.test", user_claim: realm.user }]`
  const whole = text.replace(/jwt: .*/, issuers)
  const loaded = parseConfig(whole, 'test.yaml', {})
  warnings = loaded.warnings.map(({ message }) => message)
  app = await startApp(whole)
})

async function ask(line: string, body?: string, headers: Record<string, string> = bearer('alice')): Promise<number> {
  const length = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': `${body.length}` }
  const fields = Object.entries({ Host: 'x', Connection: 'close', ...length, ...headers })
  const head = [`${line} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)].join('\r\n')
  return Number((await rawExchange(app.url, `${head}\r\n\r\n${body ?? ''}`)).slice(9, 12))
}

function warns(text: string): void {
  expect(warnings).toContainEqual(expect.stringContaining(text))
}

test('a regular expression, and a placeholder of another router, match themselves only', async () => {
  warns('this matches /a/%5B0-9%5D+ only')
  warns('this matches /b/%7Bid%7D only')
  expect([await ask('GET /a/%5B0-9%5D+'), await ask('GET /a/0'), await ask('GET /a/07')]).toEqual([200, 405, 405])
  expect([await ask('GET /b/%7Bid%7D'), await ask('GET /b/7')]).toEqual([200, 405])
})

test('a field with a dot in its name is a member within a member, and "*" is one value', async () => {
  warns('"*" is one value')
  expect(await ask('POST /c', '{ "a": { "b": 2 } }')).toBe(200)
  expect(await ask('POST /c', '{ "a.b": 2 }')).toBe(400)
  expect(await ask('POST /c', '{ "a": { "b": 7 } }')).toBe(400)
  expect(await ask('POST /c', '{ "a": { "b": "*" } }')).toBe(200)
})

test('a claim is found by its path and by a name with a dot, and an issuer with a placeholder is none that a token has', async () => {
  warns('"{tenant}" is compared letter by letter with the claim iss')
  const as = (claims: object) => ({ authorization: `Bearer ${jwtOf('alice', { ...claims })}` })
  const get = (claims: object) => ask('GET /api/x', undefined, as(claims))
  expect(await get({ iss: 'https://dotted.test', realm: { user: 'alice' } })).toBe(200)
  expect(await get({ iss: 'https://dotted.test', 'realm.user': 'alice' })).toBe(200)
  expect(await get({ iss: 'https://acme.test' })).toBe(401)
  expect(await get({ iss: 'https://{tenant}.test' })).toBe(200)
})

test('a placeholder in a header goes to the upstream as it stands', async () => {
  warns('the upstream gets "{user}" as it stands')
  expect(await ask('GET /api/header')).toBe(200)
  expect(upstream.seen.at(-1)?.headers['x-remote-user']).toBe('{user}')
})

test('a preflight that a deeper rule for any method charges gets 401, and elsewhere none', async () => {
  warns('OPTIONS /api/x is matched by "* /api/*"')
  expect(await ask('OPTIONS /api/x', undefined, {})).toBe(401)
  expect(await ask('OPTIONS /other', undefined, {})).toBe(200)
})
