import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createShares,
  type Exhausted,
  type Holder,
  type ShareRules,
  THINGS,
  type Thing,
} from '../../src/edge/shares.ts'

const NONE = { total: null, address: null, user: null }
const UNBOUND = Object.fromEntries(THINGS.map((thing) => [thing, NONE])) as unknown as ShareRules

function rules(changes: { readonly [K in Thing]?: Partial<ShareRules[Thing]> }): ShareRules {
  const changed = Object.entries(changes).map(([thing, bounds]) => [thing, { ...NONE, ...bounds }])
  return { ...UNBOUND, ...Object.fromEntries(changed) }
}

describe('what one client may hold', () => {
  const shared = rules({ requests: { total: 4, address: 3, user: 2 } })

  it('is bounded for one address, for one user, and for all together, and each refusal says which', () => {
    const shares = createShares()
    const take = (address: string | null, user?: string): Exhausted | null => {
      const holder = shares.holder(address)
      const refused = holder.take('requests', shared) ?? (user === undefined ? null : holder.identify(user, shared))
      if (refused !== null) holder.end()
      return refused
    }
    expect([take('a', 'alice'), take('a', 'alice')]).toEqual([null, null])
    expect(take('b', 'alice')).toEqual({ thing: 'requests', bound: 'user', max: 2 })
    expect(take('a')).toBe(null)
    expect(take('a')).toEqual({ thing: 'requests', bound: 'address', max: 3 })
    expect(take('b')).toBe(null)
    expect(take('c')).toEqual({ thing: 'requests', bound: 'total', max: 4 })
    expect(take(null)).toEqual({ thing: 'requests', bound: 'total', max: 4 })
    expect(shares.held('requests')).toBe(4)
  })

  it('comes back when it is given back, once, and with the end of the holder', () => {
    const shares = createShares()
    const one = shares.holder('a')
    expect(one.take('requests', shared)).toBe(null)
    expect(one.take('requests', shared)).toBe(null)
    expect(shares.held('requests')).toBe(1)
    one.give('requests')
    one.give('requests')
    expect(shares.held('requests')).toBe(0)
    one.take('requests', shared)
    one.take('bodies', shared)
    one.identify('alice', shared)
    one.end()
    expect([shares.held('requests'), shares.held('bodies')]).toEqual([0, 0])
    const all = Array.from({ length: 3 }, () => shares.holder('a'))
    expect(all.map((holder) => holder.take('requests', shared))).toEqual([null, null, null])
  })
})

describe('who waits for a connection to the upstream', () => {
  const shared = rules({ upstream_connections: { address: 2, user: 1 } })

  it('waits for its own requests, in the order of arrival, and is refused where none of them ends', async () => {
    const shares = createShares()
    const [first, second, third, fourth] = Array.from({ length: 4 }, () => shares.holder('a')) as [
      Holder,
      Holder,
      Holder,
      Holder,
    ]
    expect(first.takeWithin('upstream_connections', shared, 10_000)).toBe(null)
    expect(second.takeWithin('upstream_connections', shared, 10_000)).toBe(null)
    expect(shares.holder('b').takeWithin('upstream_connections', shared, 10_000)).toBe(null)
    const order: string[] = []
    const waits = third.takeWithin('upstream_connections', shared, 10_000) as Promise<null>
    const inVain = fourth.takeWithin('upstream_connections', shared, 50) as Promise<Exhausted>
    void waits.then(() => order.push('third'))
    expect(await inVain).toEqual({ thing: 'upstream_connections', bound: 'address', max: 2 })
    const again = fourth.takeWithin('upstream_connections', shared, 10_000) as Promise<null>
    void again.then(() => order.push('fourth'))
    first.give('upstream_connections')
    expect(await waits).toBe(null)
    second.end()
    expect(await again).toBe(null)
    expect(order).toEqual(['third', 'fourth'])
  })

  it('is overtaken by nobody who comes when a place is free again', async () => {
    const shares = createShares()
    const [first, second, third, late] = Array.from({ length: 4 }, () => shares.holder('a')) as [
      Holder,
      Holder,
      Holder,
      Holder,
    ]
    for (const holder of [first, second]) holder.takeWithin('upstream_connections', shared, 10_000)
    const waits = third.takeWithin('upstream_connections', shared, 10_000) as Promise<null>
    first.give('upstream_connections')
    const behind = late.takeWithin('upstream_connections', shared, 50) as Promise<Exhausted>
    expect(await waits).toBe(null)
    expect(await behind).toMatchObject({ bound: 'address' })
  })

  it('stays where it is while the limit is lower than before, and takes no time of others', async () => {
    const shares = createShares()
    const holders = Array.from({ length: 20 }, () => shares.holder('a'))
    const [one, two, ...waiting] = holders as [Holder, Holder, ...Holder[]]
    for (const holder of [one, two]) holder.takeWithin('upstream_connections', shared, 60_000)
    const fewer = rules({ upstream_connections: { address: 1 } })
    const waits = waiting.map((holder) => holder.takeWithin('upstream_connections', fewer, 500))
    one.give('upstream_connections')
    // Where those that wait woke each other, no timer would come before their time is over.
    let turns = 0
    const ticks = setInterval(() => turns++, 1)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(turns).toBeGreaterThan(1)
    expect(shares.held('upstream_connections')).toBe(1)
    two.give('upstream_connections')
    expect(await waits[0]).toBe(null)
    const ends = await Promise.all(waits.slice(1))
    clearInterval(ticks)
    expect(new Set(ends.map((end) => end?.bound))).toEqual(new Set(['address']))
  })

  it('leaves the place to the next where it has to wait for another bound', async () => {
    const shares = createShares()
    const holders = Array.from({ length: 4 }, () => shares.holder('a')) as [Holder, Holder, Holder, Holder]
    holders[0].identify('alice', shared)
    holders[1].identify('bob', shared)
    holders[2].identify('alice', shared)
    for (const holder of holders.slice(0, 2))
      expect(holder.takeWithin('upstream_connections', shared, 10_000)).toBe(null)
    const ofAlice = holders[2].takeWithin('upstream_connections', shared, 200) as Promise<Exhausted | null>
    const ofNobody = holders[3].takeWithin('upstream_connections', shared, 10_000) as Promise<Exhausted | null>
    holders[1].end()
    expect(await ofNobody).toBe(null)
    expect(await ofAlice).toMatchObject({ bound: 'address' })
  })
})

it('agrees with a plain list of who holds what, whatever is taken, given and ended', () => {
  const small = fc.constantFrom<number | null>(null, 1, 2, 3)
  const bounds = fc.record({ total: small, address: small, user: small })
  const step = fc.record({
    who: fc.nat(7),
    what: fc.constantFrom('take', 'take', 'take', 'give', 'identify', 'end'),
    thing: fc.constantFrom<Thing>('requests', 'bodies'),
    user: fc.constantFrom('alice', 'bob'),
  })
  fc.assert(
    fc.property(bounds, bounds, fc.array(step, { maxLength: 80 }), (requests, bodies, steps) => {
      const shared = rules({ requests, bodies })
      const shares = createShares()
      const model = new Map<number, { holder: Holder; address: string | null; user: string | null; things: Thing[] }>()
      for (const { who, what, thing, user } of steps) {
        let one = model.get(who)
        if (one === undefined) {
          const address = who === 7 ? null : `address ${who % 2}`
          one = { holder: shares.holder(address), address, user: null, things: [] }
          model.set(who, one)
        }
        const { address } = one
        const holds = (of: (other: { address: string | null; user: string | null }) => boolean, counted: Thing) =>
          [...model.values()].filter((other) => other.things.includes(counted) && of(other)).length
        const isOver = (most: number | null, held: number): boolean => most !== null && held >= most
        if (what === 'take') {
          const { total, address: ofAddress, user: ofUser } = shared[thing]
          const known = one.user
          const isFull =
            !one.things.includes(thing) &&
            ((address !== null &&
              isOver(
                ofAddress,
                holds((other) => other.address === address, thing),
              )) ||
              (known !== null &&
                isOver(
                  ofUser,
                  holds((other) => other.user === known, thing),
                )) ||
              isOver(
                total,
                holds(() => true, thing),
              ))
          expect(one.holder.take(thing, shared) !== null).toBe(isFull)
          if (!isFull && !one.things.includes(thing)) one.things.push(thing)
        } else if (what === 'give') {
          one.holder.give(thing)
          one.things = one.things.filter((held) => held !== thing)
        } else if (what === 'identify' && one.user === null) {
          const others = (counted: Thing): number => holds((other) => other.user === user, counted)
          const isFull = one.things.some((held) => isOver(shared[held].user, others(held)))
          expect(one.holder.identify(user, shared) !== null).toBe(isFull)
          one.user = user
        } else if (what === 'end') {
          one.holder.end()
          model.delete(who)
        }
        for (const counted of ['requests', 'bodies'] as const)
          expect(shares.held(counted)).toBe(holds(() => true, counted))
      }
    }),
    { numRuns: 500 },
  )
})
