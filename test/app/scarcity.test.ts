import { expect, test } from 'vitest'
import { createScarcity } from '../../src/app/scarcity.ts'
import { request } from '../observe/request.ts'

test('a limit in total that refused a request is a reason for 10 seconds, and one for an address or user is none', () => {
  let now = 0
  const { observer, reasons } = createScarcity(() => now)
  observer(request({ share: { thing: 'bodies', bound: 'address' } }))
  observer(request({ share: { thing: 'tunnels', bound: 'user' } }))
  observer(request({ share: { thing: 'upstream_connections', bound: 'total' } }))
  observer(request())
  expect(reasons()).toEqual([])
  observer(request({ share: { thing: 'bodies', bound: 'total' } }))
  now = 5000
  observer(request({ share: { thing: 'requests', bound: 'total' } }))
  expect(reasons()).toEqual([expect.stringContaining('bodies'), expect.stringContaining('requests')])
  now = 10_000
  expect(reasons()).toEqual([expect.stringContaining('requests')])
  now = 15_000
  expect(reasons()).toEqual([])
})
