import { expect, it } from 'vitest'
import { gateState } from '../../score/gates.ts'

it.each([
  [false, false, false, 'undiscovered'],
  [false, false, true, 'undiscovered'],
  [false, true, false, 'key_only'],
  [false, true, true, 'key_only'],
  [true, false, false, 'locked'],
  [true, false, true, 'locked'],
  [true, true, false, 'open'],
  [true, true, true, 'cleared'],
])('gateState found %s, key %s, clear %s is %s', (isGateFound, isKeyFound, isClear, state) => {
  expect(gateState({ isGateFound, isKeyFound, isClear })).toBe(state)
})
