import { expect, test } from 'vitest'
import { signInAddress } from '../../src/dashboard/logic/sign-in-link.ts'

test.each([
  ['#/sign-in?code=aB3-_x', 'aB3-_x'],
  ['#/sign-in?from=mail&code=x', 'x'],
  ['#/sign-in?code=', null],
  ['#/sign-in', null],
  ['#/users?code=x', null],
  ['#/sign-in/alice?code=x', null],
  ['', null],
])('the address %j has the code %j', (hash, code) => {
  expect(signInAddress({ pathname: '/', search: '', hash })).toEqual(code === null ? null : { code })
})

test.each([
  ['/sign-in', '?code=a&state=b%2Bc', 'code=a&state=b%2Bc'],
  ['/sign-in', '?error=access_denied', 'error=access_denied'],
  ['/sign-in', '', null],
  ['/', '?code=a&state=b', null],
  ['/sign-in/alice', '?code=a', null],
])('the address %s%s is one by which a provider sends the browser back with %j', (pathname, search, returned) => {
  expect(signInAddress({ pathname, search, hash: '' })).toEqual(returned === null ? null : { returned })
})
