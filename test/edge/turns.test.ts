import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { takeLaterTurn, takeTurn, takeTurnToRead } from '../../src/edge/turns.ts'

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

const stranger = { isAccepted: false }

it('of strangers 64 requests begin at once in a turn, from however many addresses, and of those that wait two in each later turn', async () => {
  for (let i = 0; i < 70; i++) enter(`192.0.2.${i}`, `s${i}`, stranger)
  expect(await turns(5)).toEqual([names('s', 0, 64), names('s', 64, 66), names('s', 66, 68), names('s', 68, 70), []])
})

it('strangers who wait begin one address after the other, so that one request of a stranger waits for few of another', async () => {
  for (let i = 0; i < 68; i++) enter('192.0.2.1', `a${i}`, stranger)
  enter('192.0.2.2', 'b0', stranger)
  expect(await turns(4)).toEqual([names('a', 0, 64), ['a64', 'b0'], ['a65', 'a66'], ['a67']])
})

it('strangers of one IPv6 /48 who wait have one turn together beside those of another address', async () => {
  for (let i = 0; i < 68; i++) enter(`2001:db8:1:${i}::/64`, `a${i}`, stranger)
  enter('192.0.2.2', 'b0', stranger)
  expect(await turns(4)).toEqual([names('a', 0, 64), ['a64', 'b0'], ['a65', 'a66'], ['a67']])
})

it('long heads of strangers at many addresses have 64 KiB of a turn together', async () => {
  for (let i = 0; i < 11; i++) enter(`192.0.2.${i}`, `s${i}`, { bytes: 8 * 1024, ...stranger })
  expect(await turns(4)).toEqual([names('s', 0, 8), names('s', 8, 10), names('s', 10, 11), []])
})

it('requests of strangers that wait hold up nobody on whose connection a credential was accepted, of the same address either', async () => {
  for (let i = 0; i < 66; i++) enter('192.0.2.1', `a${i}`, stranger)
  enter('192.0.2.1', 'user')
  expect(begun.splice(0)).toEqual([...names('a', 0, 64), 'user'])
  expect(await turns(2)).toEqual([[], ['a64', 'a65']])
})

it('a new connection is read at once, and behind the requests of strangers of its address where those wait', async () => {
  expect(takeTurnToRead('192.0.2.1')).toBeNull()
  for (let i = 0; i < 66; i++) enter('192.0.2.1', `a${i}`, stranger)
  void takeTurnToRead('192.0.2.1')?.then(() => begun.push('read'))
  expect(takeTurnToRead('192.0.2.2')).toBeNull()
  expect(await turns(4)).toEqual([names('a', 0, 64), ['a64', 'a65'], ['read'], []])
})
