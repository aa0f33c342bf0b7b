import { expect, test } from 'vitest'
import { undoneBy } from '../../src/dashboard/logic/audit-undone.ts'

const entries = (...whys: (string | null)[]) => whys.map((why, i) => ({ version: i + 1, why }))

test('a change is undone by the latest undo of it, unless that was undone itself', () => {
  expect([...undoneBy(entries(null, 'undo of 1'))]).toEqual([[1, 2]])
  expect([...undoneBy(entries(null, 'undo of 1: by mistake', 'undo of 2'))]).toEqual([[2, 3]])
  expect([...undoneBy(entries(null, 'undo of 1', 'undo of 2', 'undo of 1'))]).toEqual([
    [1, 4],
    [2, 3],
  ])
  // Nobody undoes what is to come, nor by a reason that only begins so.
  expect([...undoneBy(entries('undo of 2', 'undo of 1 again'))]).toEqual([])
})
