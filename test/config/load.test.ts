import { createHash } from 'node:crypto'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { fingerprint } from '../../src/config/fingerprint.ts'
import { loadConfig, parseConfig, problemAt } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { tempFolder } from '../setup/at-end.ts'

const SHORTEST = 'upstream: { url: http://127.0.0.1:9000 }\n'

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

function put(name: string, content: string | Buffer): string {
  const file = join(folder, name)
  writeFileSync(file, content)
  return file
}

async function problemsOf(file: string): Promise<string> {
  const result = await loadConfig(file, {})
  return result.ok ? '' : formatProblems(result.problems).replaceAll(folder, '')
}

function problemsIn(text: string): string[] {
  const result = parseConfig(text, 'tollgate.yaml', {})
  return result.ok ? [] : formatProblems(result.problems).split('\n')
}

describe('loading a file', () => {
  test('loading a file gives the hash that sha256sum prints, so that replicas can be compared with the file', async () => {
    const result = await loadConfig(put('tollgate.yaml', SHORTEST), {})
    expect(result).toMatchObject({ ok: true, hash: createHash('sha256').update(SHORTEST).digest('hex').slice(0, 16) })
  })

  test('loading a file gives another hash if a key set, an authority, an OpenAPI document or a body that it names holds something else', async () => {
    const file = put(
      'tollgate.yaml',
      `upstream: { url: https://127.0.0.1:9000, tls: { ca: ca.pem, cert: c.pem, key: k.pem } }
auth:
  jwt: [{ issuer: a, audience: b, algorithms: [ES256], jwks: file:jwks.json }]
  client_certificate: { ca: clients.pem, crl: revoked.pem, user: dns }
reference: { path: /reference, openapi: api.json }
errors: { no_route: { body: body.json, content_type: application/json } }
store: rediss+sentinel://127.0.0.1:1/main
store_options: { tls: { ca: store.pem }, sentinel: { tls: { ca: sentinel.pem } } }
tls: { cert: c.pem, key: k.pem }
`,
    )
    const OWN = ['c.pem', 'k.pem', 'clients.pem', 'revoked.pem']
    const info = '"info": { "title": "t", "version": "1" }, "paths": {}'
    const documents = [
      ['jwks.json', '{ "keys": [] }', '{ "keys": [{}] }'],
      ['ca.pem', 'one', 'another'],
      ['store.pem', 'one', 'another'],
      ['sentinel.pem', 'one', 'another'],
      ['body.json', '{}', '{ "a": 1 }'],
      ['api.json', `{ "openapi": "3.1.0", ${info} }`, `{ "openapi": "3.1.1", ${info} }`],
    ] as const
    for (const [name, text] of [...documents, ...OWN.map((name) => [name, ''] as const)]) put(name, text)
    const seen = async () => {
      const result = await loadConfig(file, {})
      if (!result.ok) throw new Error(formatProblems(result.problems))
      return { hash: result.hash, textHash: result.textHash, decides: fingerprint(result.config) }
    }
    const first = await seen()
    expect(await seen()).toEqual(first)
    expect(first.textHash).toBe(createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16))
    for (const [name, text, other] of documents) {
      put(name, other)
      const { hash, textHash, decides } = await seen()
      expect(hash, name).not.toBe(first.hash)
      expect(textHash).toBe(first.textHash)
      // Who is let in hangs on the keys; the upstream's authority is an address, so to say.
      expect(decides !== first.decides, name).toBe(name === 'jwks.json')
      put(name, text)
    }
    // Each replica may have a certificate of its own, and what is read again at each change is no matter of the hash.
    for (const name of OWN) put(name, 'another')
    expect(await seen()).toEqual(first)
  }, 60_000)

  test('loading a file finds keys and certificates beside the file, and the database in the working directory', async () => {
    put('jwks.json', '{ "keys": [] }')
    put('ca.pem', '')
    const file = put(
      'tollgate.yaml',
      `upstream: { url: https://127.0.0.1:9000, tls: { ca: ./ca.pem } }
auth: { jwt: [{ issuer: a, audience: b, algorithms: [ES256], jwks: file:./jwks.json }] }
`,
    )
    const result = await loadConfig(file, {})
    expect(result.ok && result.config.upstream.tls?.caFile).toBe(join(folder, 'ca.pem'))
    expect(result.ok && result.config.auth.jwt[0]?.keys).toMatchObject({
      kind: 'file',
      path: join(folder, 'jwks.json'),
    })
    expect(result.ok && result.config.store.location).toEqual({ kind: 'sqlite', path: './tollgate.db' })
  })

  test('loading a file reports every file that it names and that cannot be read', async () => {
    const file = put(
      'tollgate.yaml',
      `upstream: { url: https://127.0.0.1:9000, tls: { ca: ca.pem, cert: c.pem, key: k.pem } }
auth: { jwt: [{ issuer: a, audience: b, algorithms: [ES256], jwks: file:jwks.json }] }
`,
    )
    put('c.pem', '')
    expect(await problemsOf(file)).toBe(
      [
        '/tollgate.yaml:1:53 upstream.tls.ca: "/ca.pem" cannot be read (ENOENT): check the path and the permissions',
        '/tollgate.yaml:1:79 upstream.tls.key: "/k.pem" cannot be read (ENOENT): check the path and the permissions',
        '/tollgate.yaml:2:68 auth.jwt[0].jwks: "/jwks.json" cannot be read (ENOENT): check the path and the permissions',
      ].join('\n'),
    )
  })

  test('places a problem that is found later, such as a weak key in a key file', () => {
    const result = parseConfig(`${SHORTEST}admin:\n  token: 0123456789abcdef\n`, 'tollgate.yaml', {})
    expect(result.ok && formatProblems([problemAt(result, ['admin', 'token'], 'is known to all')])).toBe(
      'tollgate.yaml:3:10 admin.token: is known to all',
    )
  })

  test('loading a file reports a file that is missing, is a folder, or is not UTF-8', async () => {
    const missing = '/no.yaml:1:1 file: cannot be read (ENOENT): check the path and the permissions'
    expect(await problemsOf(join(folder, 'no.yaml'))).toBe(missing)
    expect(await problemsOf(folder)).toBe(':1:1 file: is not a regular file: name the configuration file')
    const utf16 = put('utf16.yaml', Buffer.from(`\ufeff${SHORTEST}`, 'utf16le'))
    expect(await problemsOf(utf16)).toBe('/utf16.yaml:1:1 file: is not UTF-8: save it in that encoding')
  })

  test('loading a file does not read a file of more than 1 MiB', async () => {
    const file = put('large.yaml', SHORTEST)
    truncateSync(file, 10 * 1024 * 1024)
    const tooLarge = 'file: is larger than 1 MiB: name the configuration file, or shorten it'
    expect(await problemsOf(file)).toBe(`/large.yaml:1:1 ${tooLarge}`)
    expect(problemsIn(`${SHORTEST}#${'é'.repeat(600_000)}`)).toEqual([`tollgate.yaml:1:1 ${tooLarge}`])
  })
})

describe('a file that is made to hurt', () => {
  test('an alias bomb of maps is refused', () => {
    const levels = Array.from({ length: 12 }, (_, i) => `a${i}: &a${i} { ${refs(i, (n) => `k${n}: `)} }`)
    expect(problemsIn(`${levels.join('\n')}\n`)).toContainEqual(
      expect.stringContaining('aliases stand for too many values'),
    )
  })

  test('an alias bomb of lists is refused, once', () => {
    const levels = Array.from({ length: 12 }, (_, i) => `a${i}: &a${i} [${refs(i, () => '')}]`)
    const told = problemsIn(`${levels.join('\n')}\n`).filter((line) => line.includes('too many values'))
    expect(told).toHaveLength(1)
  })

  test('nesting is bounded, whether in flow or in block style', () => {
    const nested = (depth: number) => `${SHORTEST}a: ${'['.repeat(depth)}${']'.repeat(depth)}\n`
    expect(problemsIn(nested(40))).toContainEqual(expect.stringContaining('is nested more than 32 deep: flatten it'))
    expect(problemsIn(nested(10_000))).toContainEqual(
      expect.stringContaining('yaml: the nesting is too deep: flatten it'),
    )
    expect(problemsIn(`${SHORTEST}a:\n  ${'- '.repeat(10_000)}1\n`)).toContainEqual(expect.stringContaining('too deep'))
  })

  test('tens of thousands of keys, aliases and errors are reported in finite words', () => {
    const keys = Array.from({ length: 40_000 }, (_, i) => `k${i}: 1`).join('\n')
    expect(problemsIn(keys)).toHaveLength(40_001)
    expect(problemsIn(`a: &a 1\nb: [${'*a,'.repeat(200_000)}1]`)).not.toEqual([])
    expect(problemsIn(`a: [${','.repeat(200_000)}]`)).toHaveLength(1)
  }, 300_000)
})

function refs(level: number, before: (n: number) => string): string {
  return Array.from({ length: 9 }, (_, n) => (level === 0 ? `${before(n)}x` : `${before(n)}*a${level - 1}`)).join(', ')
}
