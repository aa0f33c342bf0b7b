import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { nextTurn } from '../../src/edge/turns.ts'

it('of each address eight go on in a turn of the event loop, in the order in which they came', async () => {
  const begun: string[] = []
  const enter = (peer: string, i: number): void => {
    void nextTurn(peer).then(() => begun.push(`${peer}${i}`))
  }
  for (let i = 0; i < 20; i++) enter('a', i)
  enter('b', 0)
  const turns: string[][] = []
  while (turns.length < 4) {
    await turn()
    turns.push(begun.splice(0))
    if (turns.length === 2) enter('b', 1)
  }
  const ofA = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `a${from + i}`)
  expect(turns).toEqual([[...ofA(0, 8), 'b0'], ofA(8, 16), [...ofA(16, 20), 'b1'], []])
})
