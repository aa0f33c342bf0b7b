import { beforeEach, expect, test } from 'vitest'
import { hashAccessKey } from '../../../src/control/access-key-record.ts'
import { type Running, startAdmin } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const NDJSON = { 'content-type': 'application/x-ndjson' }
const put = (lines: readonly unknown[], query = '', headers: Record<string, string> = NDJSON) => {
  const body = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  return running.call('PUT', `/api/tokens/import${query}`, { headers, body: `${body}\n` })
}
const lineOf = (key: string, more: object = {}) => ({
  sha256: hashAccessKey(key),
  user: 'bob',
  name: 'from Kong',
  ...more,
})

test('keys that somebody else has made are taken over by their hashes, with one entry in the audit that has none', async () => {
  const lines = [
    lineOf('sk-one', { organisation: 'acme' }),
    lineOf('sk-two', { user: 'carol', expiresAt: '2027-01-01T00:00:00Z' }),
  ]
  const reply = await put(lines, '?reason=we%20leave%20Kong')
  expect([reply.status, reply.json]).toEqual([200, { imported: 2, known: 0 }])
  const stored = await running.store.listTokens()
  const facts = { user: 'bob', name: 'from Kong', organisation: 'acme', expiresAt: null, revokedAt: null }
  expect(stored.find(({ hash }) => hash === hashAccessKey('sk-one'))).toMatchObject(facts)
  const audit = await running.call('GET', '/api/audit?about=carol')
  expect(audit.json.entries).toMatchObject([
    {
      what: 'tokens_imported',
      subject: null,
      why: 'we leave Kong',
      to: { tokens: [{ user: 'bob' }, { user: 'carol' }] },
    },
  ])
  expect(audit.text).not.toContain(hashAccessKey('sk-one'))
  const undone = await running.call('POST', `/api/audit/${audit.json.entries[0].version}/undo`, { body: {} })
  expect(undone.status).toBe(422)
})

test('keys that somebody else has made are taken over once, in changes of five hundred, and can be revoked', async () => {
  const lines = Array.from({ length: 501 }, (_, i) => lineOf(`sk-${i}`))
  expect((await put(lines)).json).toEqual({ imported: 501, known: 0 })
  expect((await put([...lines, lineOf('sk-new')])).json).toEqual({ imported: 1, known: 501 })
  expect((await running.call('GET', '/api/audit?what=tokens_imported')).json.entries).toHaveLength(3)
  expect((await running.call('DELETE', '/api/tokens?user=bob')).json).toEqual({ user: 'bob', revoked: 502 })
})

test('keys that somebody else has made are not taken over at all if one line is wrong, and each wrong line is named', async () => {
  await put([lineOf('sk-known')])
  const reply = await put([
    lineOf('sk-good'),
    { ...lineOf('sk-x'), sha256: 'sk-x' },
    lineOf('sk-good'),
    lineOf('sk-known', { user: 'eve' }),
    lineOf('sk-y', { plan: 'gold' }),
    lineOf('sk-z', { expiresAt: '2020-01-01T00:00:00Z' }),
    lineOf('sk-w', { nam: 'x' }),
    'no JSON',
  ])
  expect(reply.status).toBe(400)
  const problems = reply.json.problems as { path: string; msg: string }[]
  expect(problems.map(({ path }) => path)).toEqual([
    'line 2, sha256',
    'line 3, sha256',
    'line 4, sha256',
    'line 5, plan',
    'line 6, expiresAt',
    'line 7, nam',
    'line 8',
  ])
  expect(problems[0]?.msg).toContain('sha256sum')
  expect(await running.store.listTokens()).toHaveLength(1)
})

test('keys that somebody else has made are named by the line of the file where they are wrong, whatever it has', async () => {
  const good = JSON.stringify(lineOf('sk-good'))
  const lines: [string | Buffer, object][] = [
    [`\n \n${good}\r\n\n{ "sha256": `, { path: 'line 5' }],
    [
      `${good}\n${JSON.stringify(lineOf('sk-1')).replace('{', '{"user":"eve",')}`,
      { path: 'line 2, user', msg: 'is here twice: keep one' },
    ],
    [
      Buffer.concat([Buffer.from(`${good}\n{"user":"b`), Buffer.from([0xff]), Buffer.from('"}')]),
      { path: 'line 2', msg: 'is no UTF-8: save the file as UTF-8' },
    ],
  ]
  for (const [body, problem] of lines) {
    const reply = await running.call('PUT', '/api/tokens/import', { headers: NDJSON, body })
    expect(reply).toMatchObject({ status: 400, json: { problems: [problem] } })
  }
  expect(await running.store.listTokens()).toEqual([])
})

test('keys that somebody else has made come as JSON lines only', async () => {
  expect(await put([lineOf('sk-one')], '', { 'content-type': 'text/csv' })).toMatchObject({ status: 415 })
  expect(await put([lineOf('sk-one')], '', { 'content-type': 'application/json' })).toMatchObject({ status: 415 })
})
