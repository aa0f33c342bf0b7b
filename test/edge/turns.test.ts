import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { takeLaterTurn, takeTurn } from '../../src/edge/turns.ts'

const begun: string[] = []

function enter(address: string | null, name: string, bytes = 100): void {
  const turn = takeTurn(address, bytes)
  if (turn === null) begun.push(name)
  else void turn.then(() => begun.push(name))
}

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
  for (let i = 0; i < 20; i++) enter('192.0.2.1', `a${i}`, 8 * 1024)
  expect(await turns(4)).toEqual([names('a', 0, 8), names('a', 8, 16), names('a', 16, 20), []])
})

it('a request of an address of which others wait begins behind those', async () => {
  for (let i = 0; i < 65; i++) enter('192.0.2.1', `a${i}`)
  await nextTurn()
  enter('192.0.2.1', 'late')
  expect(begun.splice(0)).toEqual([...names('a', 0, 65), 'late'])
  await nextTurn()
})

it('a peer that stands for many clients waits for no turn', () => {
  for (let i = 0; i < 200; i++) enter(null, `p${i}`)
  expect(begun.splice(0)).toEqual(names('p', 0, 200))
})

it('a request that has waited behind others of its connection begins in a later turn, though there is room in this one', async () => {
  void takeLaterTurn('192.0.2.1', 100).then(() => begun.push('behind'))
  enter('192.0.2.2', 'other')
  expect(await turns(2)).toEqual([['other'], ['behind']])
})
