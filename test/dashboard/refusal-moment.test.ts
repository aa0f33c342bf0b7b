import { expect, test } from 'vitest'
import { refusalsAt } from '../../src/dashboard/logic/refusal-moment.ts'

const of = (first: string, last = first) => ({ first: `2026-11-27T${first}Z`, last: `2026-11-27T${last}Z` })
const at = (refusals: readonly ReturnType<typeof of>[], moment: string) => {
  const { isThen, found } = refusalsAt(refusals, `2026-11-27T${moment}Z`)
  return [isThen, refusals.map((each) => found.has(each))]
}

test('the refusals of a minute are those that went on in it', () => {
  const refusals = [of('21:15:59'), of('21:00:00', '21:15:00'), of('21:16:00'), of('21:14:59')]
  expect(at(refusals, '21:15:00')).toEqual([true, [true, true, false, false]])
})

test('the moment of a minute without a refusal is the nearest', () => {
  expect(at([of('21:40:00'), of('21:20:00'), of('21:00:00')], '21:15:00')).toEqual([false, [false, true, false]])
  expect(at([], '21:15:00')).toEqual([false, []])
})
