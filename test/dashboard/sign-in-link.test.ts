import { expect, test } from 'vitest'
import { codeOf } from '../../src/dashboard/logic/sign-in-link.ts'

test.each([
  ['#/sign-in?code=aB3-_x', 'aB3-_x'],
  ['#/sign-in?from=mail&code=x', 'x'],
  ['#/sign-in?code=', null],
  ['#/sign-in', null],
  ['#/users?code=x', null],
  ['#/sign-in/alice?code=x', null],
  ['', null],
])('the address %j has the code %j', (hash, code) => {
  expect(codeOf(hash)).toBe(code)
})
