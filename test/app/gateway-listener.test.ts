import { expect, test } from 'vitest'
import { addressProblem, idleTimeoutOf } from '../../src/app/gateway-listener.ts'
import { understood } from '../e2e/harness.ts'

/** The tests may run as root, which may have any port. */
test.each([
  ['EACCES', /^it failed: choose a port from 1024 on, or give .* \(CAP_NET_BIND_SERVICE\)$/],
  ['EADDRINUSE', /^it failed: choose an address of this machine whose port is free$/],
  ['EADDRNOTAVAIL', /^it failed: choose an address of this machine whose port is free$/],
])('an address that cannot be had is reported with its cure: %s', (code, told) => {
  const cause = Object.assign(new Error('it failed'), { code })
  const problem = { name: 'Error', path: ['admin', 'listen'], message: expect.stringMatching(told), cause }
  expect(() => addressProblem('admin', 'listen')(cause)).toThrow(expect.objectContaining(problem))
})

test('a client that waits for a connection to the upstream, once for its share and once for a free one, is not cut off before its 503', () => {
  const { config } = understood('upstream: { url: "http://127.0.0.1:1", queue_timeout: 2m }')
  expect(idleTimeoutOf(config)).toBeGreaterThan(2 * 120_000 + config.upstream.connectTimeoutMs)
})

test('a client whose charge waits for a silent store is not cut off before its 503', () => {
  const { config } = understood(
    'upstream: { url: "http://127.0.0.1:1", response_timeout: 1s, idle_timeout: 1s }\nstore_options: { deadline: 10s }',
  )
  expect(idleTimeoutOf(config)).toBeGreaterThan(4 * 10_000)
})
