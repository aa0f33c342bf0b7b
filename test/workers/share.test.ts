import { availableParallelism } from 'node:os'
import { expect, it } from 'vitest'
import { fingerprint } from '../../src/config/fingerprint.ts'
import { shareOf, workerCount } from '../../src/workers/share.ts'
import { understood } from '../e2e/harness.ts'

const config = (edge: string, upstream = '') =>
  understood(`
upstream: { url: "http://127.0.0.1:9000", ${upstream} }
edge: { ${edge} }
quota: { store_outage: { read: { allow: 10% } } }
`).config

it('the share of a worker is its part of every total of the gateway, rounded up, so that none is without', () => {
  const whole = config(
    'max_connections: 10, max_in_flight: 4, max_tunnels: 6, max_connections_per_address: 7, max_in_flight_per_user: 3',
    'max_connections: 9, buffer_total: 1MiB',
  )
  const { edge, upstream } = shareOf(whole, 4)
  expect(edge).toMatchObject({
    maxConnections: 3,
    maxInFlight: 1,
    maxTunnels: 2,
    maxConnectionsPerAddress: 2,
    maxInFlightPerUser: 1,
  })
  expect(upstream).toMatchObject({ maxConnections: 3, buffer: 256 * 1024, bufferTotal: 256 * 1024 })
})

it('the share of a worker is its part of a share that is a number; a percentage is one of totals that are divided', () => {
  const { shares } = shareOf(config('shares: { address: 40%, user: none, strangers: 30, bodies: { user: 7 } }'), 4).edge
  expect(shares.bodies).toEqual({ address: { part: 0.4 }, user: { most: 2 }, strangers: { most: 8 } })
  expect(shares.tunnels).toEqual({ address: { part: 0.4 }, user: { most: 25 }, strangers: { most: 8 } })
  expect(shares.requests.user).toBe(null)
})

it('the share of a worker leaves a limit that is none without one', () => {
  const { edge } = shareOf(config('max_connections_per_address: none, max_in_flight_per_user: none'), 4)
  expect([edge.maxConnectionsPerAddress, edge.maxInFlightPerUser]).toEqual([null, null])
})

it('the share of a worker decides alike, however many there are: what a replica with another number of workers compares itself with', () => {
  const whole = config('')
  expect([shareOf(whole, 4), shareOf(whole, 3)].map(fingerprint)).toEqual([fingerprint(whole), fingerprint(whole)])
})

it('the share of a worker changes nothing else', () => {
  const whole = config('')
  const { edge, upstream, ...rest } = shareOf(whole, 4)
  expect({ edge: whole.edge, upstream: whole.upstream, ...rest }).toEqual({ ...whole, sharedBy: 4 })
})

it('the number of workers is the one of the file, or that of the processors', () => {
  expect(workerCount({ workers: 3 })).toBe(3)
  expect(workerCount({ workers: 'auto' })).toBe(availableParallelism())
})
