import { expect, test } from 'vitest'
import { highestLimit } from '../../src/dashboard/logic/highest-limit.ts'

test('the highest limit of the plans is what some users of an organisation have, and there is none without plans', () => {
  expect(highestLimit({ free: 100, pro: 2500, team: 0 })).toBe(2500)
  expect(highestLimit({})).toBeNull()
})
