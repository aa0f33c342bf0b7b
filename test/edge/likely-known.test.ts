import { afterEach, expect, it, vi } from 'vitest'
import type { ClientPeer } from '../../src/edge/connection.ts'
import { wasAcceptedFrom } from '../../src/edge/turns.ts'
import { sent } from './bare-listener.ts'

afterEach(() => {
  vi.useRealTimers()
})

async function connection(): Promise<ClientPeer> {
  const { requests } = await sent('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  return requests[0]?.client as ClientPeer
}

it('what comes on a connection is likely to be of a user once a credential of its own client was accepted on it', async () => {
  const [client, other] = [await connection(), await connection()]
  expect(client.isLikelyKnown(client.peer)).toBe(false)
  client.accepted(client.peer)
  expect([client.isLikelyKnown(client.peer), other.isLikelyKnown(other.peer)]).toEqual([true, false])
})

it('a stranger whose request comes by a proxy is none the less one because a user came on the same connection', async () => {
  const proxied = await connection()
  proxied.accepted('203.0.113.7')
  expect([proxied.isLikelyKnown('203.0.113.7'), proxied.isLikelyKnown('203.0.113.8')]).toEqual([true, false])
  expect((await connection()).isLikelyKnown('203.0.113.7')).toBe(true)
})

it('an address is remembered for as long as credentials are accepted on one of its connections', async () => {
  const client = await connection()
  vi.useFakeTimers({ toFake: ['performance'] })
  for (let minutes = 0; minutes < 30; minutes += 4) {
    client.accepted(client.peer)
    vi.advanceTimersByTime(4 * 60_000)
  }
  expect(wasAcceptedFrom(client.peer)).toBe(true)
})
