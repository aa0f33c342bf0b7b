import { expect, it } from 'vitest'
import { needRestart, untilRestart } from '../../src/app/restart-warnings.ts'
import { understood } from '../e2e/harness.ts'

const config = (text: string) => understood(`upstream: { url: "http://127.0.0.1:9000" }\n${text}`).config
const running = config('')

it.each([
  'listen: 127.0.0.1:1',
  'tls: { cert: a.crt, key: a.key }',
  'workers: 3',
  'store: sqlite:other.db',
  'store_options: { deadline: 1s }',
  'admin: { listen: 127.0.0.1:1 }',
  'log: { level: warn }',
  'edge: { max_connections: 7 }',
  'edge: { keep_alive_timeout: 7s }',
  'edge: { max_header_size: 32KiB }',
  'edge: { headers_timeout: 7s }',
])('%s waits for a restart, and until then things are as they were', (text) => {
  const next = config(text)
  expect(needRestart(running, next)).toEqual([expect.stringContaining('takes effect at the next restart')])
  expect(untilRestart(running, next)).toEqual(running)
  expect(needRestart(running, untilRestart(running, next))).toEqual([])
})

it('authorities of clients wait for a restart, and until then are as they were', () => {
  const tls = 'tls: { cert: a.crt, key: a.key }'
  const [before, next] = [config(tls), config(`${tls}\nauth: { client_certificate: { ca: ca.pem, user: dns } }`)]
  expect(needRestart(before, next)).toEqual(['auth.client_certificate: this change takes effect at the next restart'])
  expect(untilRestart(before, next)).toEqual(before)
})

it('a longer URL waits for a restart in the heads of the decisions listener, and nowhere else', () => {
  const withDecisions = (more = '') => config(`decisions: { listen: 127.0.0.1:1 }\n${more}`)
  const [before, next] = [withDecisions(), withDecisions('edge: { max_url: 16KiB }')]
  expect(needRestart(before, next)).toEqual([
    'edge.max_url (in the heads that decisions.listen takes): this change takes effect at the next restart',
  ])
  expect(untilRestart(before, next)).toEqual(next)
})

it.each([
  'quota: { mode: loose }',
  'routes: [{ match: GET /x, public: true }]',
  'drain: { delay: 1s }',
  'edge: { max_in_flight: 7 }',
  'edge: { max_url: 16KiB }',
  'admin: { token: another-admin-token-01 }',
])('%s does not wait for a restart', (text) => {
  const next = config(text)
  expect(needRestart(running, next)).toEqual([])
  expect(untilRestart(running, next)).toEqual(next)
})

it.each([
  ['admin: { listen: 127.0.0.1:1 }', true],
  ['admin: { tls: { cert: a.crt, key: a.key } }', true],
  ['admin: { hosts: [tollgate.example.org] }', false],
])('%s has a warning exactly if a health check is led astray until the restart', (text, astray) => {
  const [told] = needRestart(running, config(text))
  expect(told?.includes('`tollgate healthcheck` and `tollgate drain` find nobody')).toBe(astray)
})

it('only the admin listener leads a health check astray', () => {
  const told = needRestart(running, config('listen: 127.0.0.1:1\nadmin: { listen: 127.0.0.1:2 }'))
  expect(told.map((line) => line.includes('healthcheck'))).toEqual([false, true])
})
