import { expect, test } from 'vitest'
import { addressProblem } from '../../src/app/gateway-listener.ts'

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
