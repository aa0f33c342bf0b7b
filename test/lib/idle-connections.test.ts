import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IdleConnections } from '../../src/lib/idle-connections.ts'

interface Connection {
  readonly name: string
  idleSince: number | null
}

const idle = (name: string, idleSince: number): Connection => ({ name, idleSince })
const busy = (name: string): Connection => ({ name, idleSince: null })

/** Connections by the address that they come from. */
function holding(...all: (readonly [address: string | null, ...connections: Connection[]])[]) {
  const connections = new IdleConnections<Connection>()
  for (const [address, ...own] of all) for (const connection of own) connections.add(connection, address)
  return connections
}

/** Who goes, one after the other, until there is nobody left who could. */
function goers(connections: IdleConnections<Connection>): string[] {
  const names: string[] = []
  for (let next = connections.next(); next !== null; next = connections.next()) {
    names.push(next.name)
    connections.remove(next)
  }
  return names
}

describe('to make room', () => {
  it('to make room of one address the connection goes that is idle longest', () => {
    expect(goers(holding(['a', idle('2', 20), idle('1', 10), idle('3', 30)]))).toEqual(['1', '2', '3'])
  })

  it('the address with most connections loses its own first, until it has no more than others', () => {
    const crowd = ['a', idle('a1', 50), idle('a2', 60), idle('a3', 70), idle('a4', 80)] as const
    const connections = holding(['b', idle('b1', 1), idle('b2', 2)], crowd)
    expect(goers(connections)).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4'])
  })

  it('connections with a request under way count for their address and stay', () => {
    const connections = holding(['a', busy('a1'), busy('a2'), idle('a3', 9)], ['b', idle('b1', 1), idle('b2', 2)])
    expect(goers(connections)).toEqual(['a3', 'b1', 'b2'])
    expect([connections.size, connections.of('a'), connections.of('b')]).toEqual([2, 2, 0])
  })

  it('nobody goes where a request is under way on each connection', () => {
    expect(holding(['a', busy('a1')]).next()).toBeNull()
    expect(holding().next()).toBeNull()
  })

  it('a connection is judged by what it does now', () => {
    const [first, second] = [idle('first', 1), idle('second', 2)]
    const connections = holding(['a', first, second])
    first.idleSince = null
    expect(connections.next()).toBe(second)
    second.idleSince = null
    first.idleSince = 3
    expect(connections.next()).toBe(first)
  })

  it('a peer that stands for many clients is not taken for a crowd', () => {
    const proxy = [null, idle('p1', 5), idle('p2', 6), idle('p3', 7)] as const
    expect(goers(holding(proxy, ['a', idle('a1', 8), idle('a2', 9)]))).toEqual(['a1', 'p1', 'p2', 'p3', 'a2'])
  })

  it('one address alone can be asked for, whatever others hold', () => {
    const connections = holding(['a', idle('a1', 1), idle('a2', 2)], ['b', idle('b1', 3)], ['c', busy('c1')])
    expect(connections.next('b')?.name).toBe('b1')
    expect([connections.next('c'), connections.next('unknown')]).toEqual([null, null])
  })
})

it('a connection that was removed counts no more, and to remove it twice takes away no other', () => {
  const [first, second] = [idle('first', 1), idle('second', 2)]
  const connections = holding(['a', first, second])
  connections.remove(first)
  connections.remove(first)
  expect([connections.size, connections.of('a')]).toEqual([1, 1])
})

it('an address that came and went holds nothing, and its next connection is counted from one', () => {
  const connections = holding(['a', idle('first', 1)])
  expect(goers(connections)).toEqual(['first'])
  connections.add(idle('again', 2), 'a')
  expect([connections.size, connections.of('a')]).toEqual([1, 1])
})

it('whoever is chosen of any crowd is idle, of no smaller crowd than others who are, and idle longest there', () => {
  const connection = fc.record({ address: fc.integer({ min: 0, max: 4 }), since: fc.option(fc.nat(20)) })
  fc.assert(
    fc.property(fc.array(connection, { maxLength: 30 }), (all) => {
      const connections = new IdleConnections<Connection>()
      const made = all.map(({ address, since }, i) => ({ name: `${i}`, idleSince: since, address: `${address}` }))
      for (const one of made) connections.add(one, one.address)
      const counts = Map.groupBy(made, ({ address }) => address)
      const rank = ({ address }: { address: string }) => counts.get(address)?.length ?? 0
      const waiting = made.filter(({ idleSince }) => idleSince !== null)
      const most = Math.max(...waiting.map(rank))
      const fullest = waiting.filter((one) => rank(one) === most)
      const longest = Math.min(...fullest.map(({ idleSince }) => Number(idleSince)))
      const next = connections.next()
      if (waiting.length === 0) expect(next).toBeNull()
      else expect(fullest.filter(({ idleSince }) => idleSince === longest)).toContain(next)
    }),
  )
}, 60_000)

it('a look for the next one reads only the connections of the addresses that have most of them', () => {
  let reads = 0
  const counted = {
    name: '',
    get idleSince() {
      reads++
      return 1
    },
  }
  const connections = new IdleConnections<Connection>()
  for (let i = 0; i < 1000; i++) connections.add({ ...counted, name: `large ${i}` }, 'large')
  for (let i = 0; i < 4000; i++) connections.add(Object.create(counted), `small ${i}`)
  connections.next()
  expect(reads).toBeLessThan(4000)
})
