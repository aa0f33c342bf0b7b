import { expect, test } from 'vitest'
import { createScarcity } from '../../src/app/scarcity.ts'
import { request } from '../observe/request.ts'

test('a limit in total that refused a request is a reason for a minute, and one for an address or user is none', () => {
  let now = 0
  const { observer, reasons } = createScarcity(() => now)
  observer(request({ share: { thing: 'bodies', bound: 'address' } }))
  observer(request({ share: { thing: 'tunnels', bound: 'user' } }))
  observer(request({ share: { thing: 'upstream_connections', bound: 'total' } }))
  observer(request())
  expect(reasons()).toEqual([])
  observer(request({ share: { thing: 'bodies', bound: 'total' } }))
  now = 30_000
  observer(request({ share: { thing: 'requests', bound: 'total' } }))
  expect(reasons()).toEqual([expect.stringContaining('bodies'), expect.stringContaining('requests')])
  now = 60_000
  expect(reasons()).toEqual([expect.stringContaining('requests')])
  now = 90_000
  expect(reasons()).toEqual([])
})

test('strangers who have what they may, and connections that were closed for others, are reasons too', () => {
  const { observer, reasons } = createScarcity(() => 0)
  observer(request({ share: { thing: 'bodies', bound: 'strangers' } }))
  observer({ type: 'bad_connection', code: 'made_room', status: 0 })
  observer({ type: 'bad_connection', code: 'tls', status: 0 })
  expect(reasons()).toEqual([
    expect.stringContaining('without an accepted credential'),
    expect.stringContaining('idle'),
  ])
})
