import { expect, test } from 'vitest'
import { addressProblem } from '../../src/app/serving.ts'

/** The tests may run as root, which may have any port. */
test.each([
  ['EACCES', /^listen: it failed: choose a port from 1024 on, or give .* \(CAP_NET_BIND_SERVICE\)$/],
  ['EADDRINUSE', /^listen: it failed: choose an address of this machine whose port is free$/],
  ['EADDRNOTAVAIL', /^listen: it failed: choose an address of this machine whose port is free$/],
])('an address that cannot be had is told with its cure: %s', (code, told) => {
  const cause = Object.assign(new Error('it failed'), { code })
  expect(() => addressProblem('listen')(cause)).toThrow(told)
})
