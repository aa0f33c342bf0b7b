import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createShares,
  type Exhausted,
  type Holder,
  type ShareRules,
  type Shares,
  THINGS,
  type Thing,
} from '../../src/edge/shares.ts'

const NONE = { total: null, address: null, network: null, user: null, strangers: null }
const UNBOUND = Object.fromEntries(THINGS.map((thing) => [thing, NONE])) as unknown as ShareRules

function rules(changes: { readonly [K in Thing]?: Partial<ShareRules[Thing]> }): ShareRules {
  const changed = Object.entries(changes).map(([thing, bounds]) => [thing, { ...NONE, ...bounds }])
  return { ...UNBOUND, ...Object.fromEntries(changed) }
}

describe('what one client may hold', () => {
  const shared = rules({ requests: { total: 4, address: 3, user: 2 } })

  it('what one client may hold is bounded for one address, for one user, and for all together, and each refusal says which', () => {
    const shares = createShares()
    const take = (address: string | null, user?: string): Exhausted | null => {
      const holder = shares.holder(address)
      const refused =
        holder.take('requests', shared) ?? (user === undefined ? null : holder.identify(user, true, shared))
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

  it('what one client may hold comes back when it is given back, once, and with the end of the holder', () => {
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
    one.identify('alice', true, shared)
    one.end()
    expect([shares.held('requests'), shares.held('bodies')]).toEqual([0, 0])
    const all = Array.from({ length: 3 }, () => shares.holder('a'))
    expect(all.map((holder) => holder.take('requests', shared))).toEqual([null, null, null])
  })
})

describe('what all strangers together may hold', () => {
  const shared = rules({
    requests: { total: 6, address: 3, strangers: 3 },
    tunnels: { total: 6, strangers: 2 },
    checks: { strangers: 1 },
    upstream_connections: { strangers: 1 },
  })
  const stranger = (shares: Shares, address: string): Exhausted | null => {
    const holder = shares.holder(address)
    const refused = holder.take('requests', shared) ?? holder.identify(null, false, shared)
    if (refused !== null) holder.end()
    return refused
  }

  it('what all strangers together may hold is bounded over any number of addresses, and a user finds a place all the same', () => {
    const shares = createShares()
    const addresses = Array.from({ length: 10 }, (_, i) => `192.0.2.${i}`)
    const refusals = addresses.map((address) => stranger(shares, address)).filter((refused) => refused !== null)
    expect(refusals).toEqual(Array(7).fill({ thing: 'requests', bound: 'strangers', max: 3 }))
    const user = shares.holder('192.0.2.1')
    expect([user.take('requests', shared), user.identify('alice', true, shared)]).toEqual([null, null])
    expect([shares.held('requests'), shares.heldByStrangers('requests')]).toEqual([4, 3])
    user.end()
    expect([shares.held('requests'), shares.heldByStrangers('requests')]).toEqual([3, 3])
  })

  it('what all strangers together may hold counts a caller who has a name and no accepted credential, as one of an address has', () => {
    const shares = createShares()
    for (const i of [1, 2, 3]) stranger(shares, `192.0.2.${i}`)
    const caller = shares.holder('192.0.2.4')
    expect(caller.take('requests', shared)).toBe(null)
    expect(caller.identify('address:192.0.2.4', false, shared)).toEqual({
      thing: 'requests',
      bound: 'strangers',
      max: 3,
    })
  })

  it('what all strangers together may hold refuses nobody before it is known who asks, but for checks, of which likely users have the rest', () => {
    const shares = createShares()
    const holders = Array.from({ length: 6 }, (_, i) => shares.holder(`192.0.2.${i}`))
    expect(holders.map((holder) => holder.take('requests', shared))).toEqual(Array(6).fill(null))
    expect(holders.slice(0, 2).map((holder) => holder.take('checks', shared))).toEqual([
      null,
      { thing: 'checks', bound: 'strangers', max: 1 },
    ])
    expect(shares.holder('192.0.2.9', true).take('checks', shared)).toBe(null)
  })

  it('what all strangers together may hold makes strangers wait for each other at the upstream, and users not for them', async () => {
    const shares = createShares()
    const [first, second] = ['192.0.2.1', '192.0.2.2'].map((address) => shares.holder(address)) as [Holder, Holder]
    for (const holder of [first, second]) holder.identify(null, false, shared)
    expect(first.takeWithin('upstream_connections', shared, 10_000)).toBe(null)
    const waits = second.takeWithin('upstream_connections', shared, 10_000) as Promise<null>
    const user = shares.holder('192.0.2.1')
    user.identify('alice', true, shared)
    expect(user.takeWithin('upstream_connections', shared, 10_000)).toBe(null)
    first.end()
    expect(await waits).toBe(null)
  })
})

it('an IPv6 /48 has a bound of its own, beside that of each /64 in it', () => {
  const shared = rules({ requests: { address: 2, network: 3 } })
  const shares = createShares()
  const take = (address: string) => shares.holder(address).take('requests', shared)
  expect(['1', '1', '2'].map((net) => take(`2001:db8:7:${net}::/64`))).toEqual([null, null, null])
  expect(take('2001:db8:7:1::/64')).toEqual({ thing: 'requests', bound: 'address', max: 2 })
  expect(take('2001:db8:7:3::/64')).toEqual({ thing: 'requests', bound: 'network', max: 3 })
  expect(take('2001:db8:8:3::/64')).toBe(null)
})

it('an IPv6 /48 of thousands of /64s holds no more of any thing than its larger share, whoever asks in it', () => {
  const bound = { total: null, address: 20, network: 30, user: null, strangers: null }
  const all = Object.fromEntries(THINGS.map((thing) => [thing, bound])) as unknown as ShareRules
  const asks = fc.record({ net: fc.nat(5000), thing: fc.constantFrom(...THINGS), isUser: fc.boolean() })
  fc.assert(
    fc.property(fc.array(asks, { minLength: 100, maxLength: 600 }), (list) => {
      const shares = createShares()
      for (const { net, thing, isUser } of list) {
        const holder = shares.holder(`2001:db8:7:${net.toString(16)}::/64`)
        if (isUser) holder.identify(`user ${net}`, true, all)
        if (holder.take(thing, all) !== null) holder.end()
      }
      for (const thing of THINGS) expect(shares.held(thing)).toBeLessThanOrEqual(30)
      expect(shares.holder('2001:db8:8:1::/64').take('requests', all)).toBe(null)
    }),
    { numRuns: 50 },
  )
})

describe('who waits for a connection to the upstream', () => {
  const shared = rules({ upstream_connections: { address: 2, user: 1 } })

  it('who waits for a connection to the upstream waits for its own requests, in the order of arrival, and is refused where none of them ends', async () => {
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

  it('who waits for a connection to the upstream is overtaken by nobody who comes when a place is free again', async () => {
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

  it('who waits for a connection to the upstream stays where it is while the limit is lower than before, and takes no time of others', async () => {
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

  it('who waits for a connection to the upstream leaves the place to the next where it has to wait for another bound', async () => {
    const shares = createShares()
    const holders = Array.from({ length: 4 }, () => shares.holder('a')) as [Holder, Holder, Holder, Holder]
    holders[0].identify('alice', true, shared)
    holders[1].identify('bob', true, shared)
    holders[2].identify('alice', true, shared)
    for (const holder of holders.slice(0, 2))
      expect(holder.takeWithin('upstream_connections', shared, 10_000)).toBe(null)
    const ofAlice = holders[2].takeWithin('upstream_connections', shared, 200) as Promise<Exhausted | null>
    const ofNobody = holders[3].takeWithin('upstream_connections', shared, 10_000) as Promise<Exhausted | null>
    holders[1].end()
    expect(await ofNobody).toBe(null)
    expect(await ofAlice).toMatchObject({ bound: 'address' })
  })
})

it('any number of requests of a user without room may wait at an address, and the request behind them gets the place that is free', async () => {
  const shared = rules({ upstream_connections: { address: 1, user: 1 } })
  const shares = createShares()
  const of = (user: string, address: string): Holder => {
    const holder = shares.holder(address)
    holder.identify(user, true, shared)
    return holder
  }
  const ask = (holder: Holder) => holder.takeWithin('upstream_connections', shared, 60_000)
  const ofBob = of('bob', 'a')
  expect([ask(ofBob), ask(of('alice', 'b'))]).toEqual([null, null])
  const waiting = Array.from({ length: 20_000 }, () => of('alice', 'a'))
  for (const holder of waiting) void ask(holder)
  const behind = ask(of('carol', 'a'))
  ofBob.end()
  expect(await behind).toBe(null)
})

it('agrees with a plain list of who holds what, whatever is taken, given and ended', () => {
  const small = fc.constantFrom<number | null>(null, 1, 2, 3)
  const bounds = fc.record({
    total: small,
    address: small,
    network: fc.constant(null),
    user: small,
    strangers: small,
  })
  const step = fc.record({
    who: fc.nat(7),
    what: fc.constantFrom('take', 'take', 'take', 'give', 'identify', 'end'),
    thing: fc.constantFrom<Thing>('requests', 'bodies'),
    user: fc.constantFrom('alice', 'bob'),
    isAccepted: fc.boolean(),
  })
  fc.assert(
    fc.property(bounds, bounds, fc.array(step, { maxLength: 80 }), (requests, bodies, steps) => {
      const shared = rules({ requests, bodies })
      const shares = createShares()
      const model = new Map<
        number,
        { holder: Holder; address: string | null; user: string | null; isAccepted: boolean; things: Thing[] }
      >()
      for (const { who, what, thing, user, isAccepted } of steps) {
        let one = model.get(who)
        if (one === undefined) {
          const address = who === 7 ? null : `address ${who % 2}`
          one = { holder: shares.holder(address), address, user: null, isAccepted: false, things: [] }
          model.set(who, one)
        }
        const { address } = one
        type Other = { address: string | null; user: string | null; isAccepted: boolean }
        const holds = (of: (other: Other) => boolean, counted: Thing) =>
          [...model.values()].filter((other) => other.things.includes(counted) && of(other)).length
        const isOver = (most: number | null, held: number): boolean => most !== null && held >= most
        if (what === 'take') {
          const { total, address: ofAddress, user: ofUser, strangers } = shared[thing]
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
              (known !== null &&
                !one.isAccepted &&
                isOver(
                  strangers,
                  holds((other) => !other.isAccepted, thing),
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
          const ofStrangers = (counted: Thing): number => holds((other) => !other.isAccepted, counted) - 1
          const isFull = one.things.some(
            (held) =>
              isOver(shared[held].user, others(held)) ||
              (!isAccepted && isOver(shared[held].strangers, ofStrangers(held))),
          )
          expect(one.holder.identify(user, isAccepted, shared) !== null).toBe(isFull)
          one.user = user
          one.isAccepted = isAccepted
        } else if (what === 'end') {
          one.holder.end()
          model.delete(who)
        }
        for (const counted of ['requests', 'bodies'] as const)
          expect([shares.held(counted), shares.heldByStrangers(counted)]).toEqual([
            holds(() => true, counted),
            holds((other) => !other.isAccepted, counted),
          ])
      }
    }),
    { numRuns: 500 },
  )
})
