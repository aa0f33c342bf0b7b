import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { acceptedFrom, takeLaterTurn, takeTurn, takeTurnToRead, takeTurnToReadOn } from '../../src/edge/turns.ts'

const begun: string[] = []

/** @param isAccepted whether a credential was accepted on its connection before; default yes */
function enter(address: string | null, name: string, { bytes = 100, isAccepted = true } = {}): void {
  const turn = takeTurn(address, isAccepted, bytes)
  if (turn === null) begun.push(name)
  else void turn.then(() => begun.push(name))
}

afterEach(async () => {
  await turns(2)
})

async function turns(count: number): Promise<string[][]> {
  const seen = [begun.splice(0)]
  while (seen.length < count) {
    await nextTurn()
    seen.push(begun.splice(0))
  }
  return seen
}

const names = (prefix: string, from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${prefix}${from + i}`)

it('an address begins 64 requests in a turn of the event loop, at once, and the others in later turns and in their order', async () => {
  for (let i = 0; i < 150; i++) enter('192.0.2.1', `a${i}`)
  enter('192.0.2.2', 'b0')
  expect(await turns(4)).toEqual([[...names('a', 0, 64), 'b0'], names('a', 64, 128), names('a', 128, 150), []])
})

it('an address whose heads are long begins as few requests in a turn as have 64 KiB together', async () => {
  for (let i = 0; i < 20; i++) enter('192.0.2.1', `a${i}`, { bytes: 8 * 1024 })
  expect(await turns(4)).toEqual([names('a', 0, 8), names('a', 8, 16), names('a', 16, 20), []])
})

it('a request of an address of which others wait begins behind those', async () => {
  for (let i = 0; i < 65; i++) enter('192.0.2.1', `a${i}`)
  await nextTurn()
  enter('192.0.2.1', 'late')
  expect(begun.splice(0)).toEqual([...names('a', 0, 65), 'late'])
})

it('a peer that stands for many clients waits for no turn', () => {
  for (let i = 0; i < 200; i++) enter(null, `p${i}`)
  expect(begun.splice(0)).toEqual(names('p', 0, 200))
})

it('a request that has waited behind others of its connection begins in a later turn, though there is room in this one', async () => {
  void takeLaterTurn('192.0.2.1', true, 100).then(() => begun.push('behind'))
  enter('192.0.2.2', 'other')
  expect(await turns(2)).toEqual([['other'], ['behind']])
})

function readOn(address: string, name: string, isAccepted: boolean, bytes = 256 * 1024): void {
  void takeTurnToReadOn(address, isAccepted, bytes).then(() => begun.push(name))
}

it('in a turn one connection of all strangers is read on, and a megabyte of each address of a user, while requests wait for none of them', async () => {
  for (const name of ['s0', 's1']) readOn('192.0.2.7', name, false)
  readOn('192.0.2.8', 't0', false)
  for (const address of ['192.0.2.9', '192.0.2.10']) for (const name of names('u', 0, 6)) readOn(address, name, true)
  enter('192.0.2.7', 'request', { isAccepted: false })
  const [before, first = [], second = [], ...others] = await turns(5)
  expect([before, first.toSorted(), second.toSorted(), ...others]).toEqual([
    ['request'],
    ['s0', 'u0', 'u0', 'u1', 'u1', 'u2', 'u2', 'u3', 'u3'],
    ['t0', 'u4', 'u4', 'u5', 'u5'],
    ['s1'],
    [],
  ])
})

it('connections with an accepted credential of an address behind which are strangers too are read on in the next turn, however many others wait', async () => {
  acceptedFrom('192.0.2.11')
  for (const name of names('s', 0, 5)) readOn('192.0.2.11', name, false)
  readOn('192.0.2.11', 'user', true)
  const [, first = []] = await turns(2)
  expect(first.toSorted()).toEqual(['s0', 'user'])
  await turns(5)
})

const stranger = { isAccepted: false }

let nets = 0

/** Addresses that nobody has had before, since those of strangers are remembered. */
function newNet(): (i: number) => string {
  const net = ++nets
  return (i) => `10.${net}.${i >> 8}.${i & 255}`
}

/** Addresses that have begun something lately. */
async function haveBegun(addresses: readonly string[]): Promise<void> {
  for (const address of addresses) enter(address, 'before', stranger)
  while (begun.length < addresses.length) await nextTurn()
  begun.length = 0
  await nextTurn()
}

const first = (at: (i: number) => string, count: number): string[] => Array.from({ length: count }, (_, i) => at(i))

/** What fills the turn. */
function fillTurn(): void {
  const at = newNet()
  for (let i = 0; i < 64; i++) enter(at(i), 'full', stranger)
  begun.length = 0
}

it('64 requests of strangers begin at once in a turn, from however many addresses, and two in each later turn of those who have begun others lately', async () => {
  const at = newNet()
  await haveBegun(first(at, 70))
  for (let i = 0; i < 70; i++) enter(at(i), `s${i}`, stranger)
  expect(await turns(5)).toEqual([names('s', 0, 64), names('s', 64, 66), names('s', 66, 68), names('s', 68, 70), []])
})

it('strangers who wait begin one address after the other, so that one request of a stranger waits for few of another', async () => {
  const at = newNet()
  await haveBegun(first(at, 2))
  for (let i = 0; i < 68; i++) enter(at(0), `a${i}`, stranger)
  enter(at(1), 'b0', stranger)
  expect(await turns(4)).toEqual([names('a', 0, 64), ['a64', 'b0'], ['a65', 'a66'], ['a67']])
})

it('strangers of one IPv6 /48 who wait have one turn together beside those of another address', async () => {
  const other = newNet()(0)
  await haveBegun([other])
  for (let i = 0; i < 68; i++) enter(`2001:db8:1:${i}::/64`, `a${i}`, stranger)
  enter(other, 'b0', stranger)
  expect(await turns(4)).toEqual([names('a', 0, 64), ['a64', 'b0'], ['a65', 'a66'], ['a67']])
})

it('long heads of strangers at many addresses have 64 KiB of a turn together', async () => {
  const at = newNet()
  await haveBegun(first(at, 11))
  for (let i = 0; i < 11; i++) enter(at(i), `s${i}`, { bytes: 8 * 1024, ...stranger })
  expect(await turns(4)).toEqual([names('s', 0, 8), names('s', 8, 10), names('s', 10, 11), []])
})

it('requests of strangers that wait hold up nobody on whose connection a credential was accepted, of the same address either', async () => {
  const address = newNet()(0)
  for (let i = 0; i < 66; i++) enter(address, `a${i}`, stranger)
  enter(address, 'user')
  expect(begun.splice(0)).toEqual([...names('a', 0, 64), 'user'])
  expect(await turns(2)).toEqual([[], ['a64', 'a65']])
})

it('a new connection is read at once, and behind the requests of strangers of its address where those wait', async () => {
  const at = newNet()
  expect(takeTurnToRead(at(0))).toBeNull()
  for (let i = 0; i < 66; i++) enter(at(0), `a${i}`, stranger)
  void takeTurnToRead(at(0))?.then(() => begun.push('read'))
  expect(takeTurnToRead(at(1))).toBeNull()
  expect(await turns(4)).toEqual([names('a', 0, 64), ['a64', 'a65'], ['read'], []])
})

it('behind a turn in which a connection came strangers begin four requests at once, so that the next connection is soon accepted', async () => {
  const at = newNet()
  await haveBegun(first(at, 20))
  enter(at(0), 'before', stranger)
  takeTurnToRead(newNet()(0))
  await nextTurn()
  begun.length = 0
  for (let i = 0; i < 10; i++) enter(at(i), `s${i}`, stranger)
  expect(await turns(5)).toEqual([names('s', 0, 4), names('s', 4, 6), names('s', 6, 8), names('s', 8, 10), []])
  for (let i = 0; i < 10; i++) enter(at(i), `s${i}`, stranger)
  expect(begun.splice(0)).toEqual(names('s', 0, 10))
})

describe('while thousands of addresses ask again as soon as they have their response', () => {
  /** Each of them has one request under way or waiting, always. */
  async function attack(addresses: number, turnsLong: number, each: (turn: number) => void): Promise<void> {
    const at = newNet()
    await haveBegun(first(at, addresses))
    const asks = (address: string): void => {
      const turn = takeTurn(address, false, 100)
      const done = () => again.push(address)
      if (turn === null) done()
      else void turn.then(done)
    }
    let again = first(at, addresses)
    for (let turn = 0; turn < turnsLong; turn++) {
      for (const address of again.splice(0)) asks(address)
      each(turn)
      await nextTurn()
    }
    again = []
    while (again.length < addresses && takeTurnToRead(at(addresses - 1)) !== null) await nextTurn()
  }

  it('an address that has begun nothing lately begins in the turn that follows', async () => {
    const newcomers = newNet()
    const waits: number[] = []
    let now = 0
    await attack(1000, 60, (turn) => {
      now = turn
      if (turn > 50) return
      void takeTurn(newcomers(turn), false, 100)?.then(() => waits.push(now - turn))
    })
    expect(waits).toHaveLength(51)
    expect(Math.max(...waits)).toBeLessThanOrEqual(1)
  })

  it('an address from which an accepted credential came begins in the turn that follows each time', async () => {
    const address = newNet()(0)
    const waits: number[] = []
    let now = 0
    await attack(1000, 60, (turn) => {
      now = turn
      if (turn % 5 !== 0 || turn > 50) return
      void takeTurn(address, false, 100)?.then(() => {
        waits.push(now - turn)
        acceptedFrom(address)
      })
    })
    expect(waits).toHaveLength(11)
    expect(Math.max(...waits)).toBeLessThanOrEqual(1)
  })

  it('a request that waits already goes first as soon as a credential of its address was accepted', async () => {
    const at = newNet()
    await haveBegun(first(at, 12))
    fillTurn()
    for (let i = 0; i < 12; i++) enter(at(i), `s${i}`, stranger)
    acceptedFrom(at(11))
    expect(await turns(3)).toEqual([[], ['s11', 's0', 's1'], ['s2', 's3']])
  })

  it('a request that waits keeps its place however many credentials of its address are accepted meanwhile', async () => {
    const [user, swarm] = [newNet()(0), newNet()]
    fillTurn()
    enter(user, 'user', stranger)
    for (let i = 0; i < 100; i++) enter(swarm(i), 's', stranger)
    acceptedFrom(user)
    const [, next = []] = await turns(5)
    expect(next).toContain('user')
  })
})

it('no more than 64 requests of strangers, from new addresses or not, begin in a turn, and a user waits for none of them', async () => {
  const comes = fc.record({ address: fc.nat(300), isNew: fc.boolean(), bytes: fc.constantFrom(100, 8 * 1024) })
  await fc.assert(
    fc.asyncProperty(fc.array(comes, { minLength: 60, maxLength: 400 }), async (all) => {
      const [at, user] = [newNet(), newNet()(0)]
      await haveBegun(all.filter(({ isNew }) => !isNew).map(({ address }) => at(address)))
      for (const { address, bytes } of all) enter(at(address), 's', { bytes, ...stranger })
      enter(user, 'user')
      let [left, isFirst] = [all.length, true]
      for (; left > 0; isFirst = false) {
        const inTurn = begun.splice(0)
        if (isFirst) expect(inTurn).toContain('user')
        const ofStrangers = inTurn.filter((name) => name === 's').length
        expect(ofStrangers).toBeLessThanOrEqual(isFirst ? 64 : 34)
        left -= ofStrangers
        await nextTurn()
      }
    }),
    { numRuns: 30 },
  )
})

it('a swarm of 5,000 addresses that nobody has seen before begins 32 requests in each turn that follows, and holds up no user in any', async () => {
  const [swarm, user] = [newNet(), newNet()(0)]
  for (let i = 0; i < 5000; i++) enter(swarm(i), 's', stranger)
  begun.length = 0
  for (let turn = 0; turn < Math.ceil((5000 - 64) / 32); turn++) {
    enter(user, 'user')
    expect(begun.splice(0)).toEqual(['user'])
    await nextTurn()
    expect(begun.splice(0).length).toBeLessThanOrEqual(32)
  }
  await nextTurn()
  enter(swarm(5000), 'next', stranger)
  expect(begun.splice(0)).toEqual(['next'])
})
