import { expect, it } from 'vitest'
import { cookieValues, withoutCookies } from '../../src/lib/cookies.ts'

it.each([
  ['s=1', ['1']],
  ['a=0; s=1;s = "2" ; s', ['1', '2']],
  ['as=2; a=s=3; ss=4; s', []],
  ['S=1; %73=2; s[0]=3; s%00x=4', ['1', '2', '3', '4']],
  ['s=a=b; s=', ['a=b', '']],
])('%s has the cookies %j', (field, values) => {
  expect(cookieValues(field, 's')).toEqual(values)
})

it.each([
  ['s=1', ''],
  ['a=0; s=1; b=2', 'a=0; b=2'],
  ['s =1;b="; s=2', 'b="'],
  ['as=2;t=1', 'as=2;t=1'],
  ['S=1;as=2; %73=3', 'as=2'],
  ['s; a=1', 's; a=1'],
])('%s without them is %s', (field, rest) => {
  expect(withoutCookies(field, new Set(['s']))).toBe(rest)
})
