import { expect, it } from 'vitest'
import { readCookie, withoutCookies } from '../../src/lib/cookies.ts'

it.each([
  ['s=1', ['1']],
  ['a=0; s=1;s = "2" ', ['1', '2']],
  ['as=2; a=s=3; ss=4', []],
  ['s=a=b; s=', ['a=b', '']],
  ['j={"t":1,"u":[2]}; s=1', ['1']],
])('%s has the cookies %j, and no other reading', (field, values) => {
  expect(readCookie(field, 's', 's')).toEqual({ values, isUnclear: false })
})

it.each([
  ...['s="\\141"', 's=a\\b', 's=a"b', 's="a', 's=a,b', 's=a b', 's=\xa0a', 's=a\x85', 's="a b"'],
  ...['S=1', 's=1; S=2', 's', 's=1; s', '%73=1', 's[]=1', 's[a]=1', 's%00x=1', ' +s=1', 's\t=1;\x0bs=2'],
  ...['a=0 s=1', 's=1; a=0, s=2', 'a="x" s=1', 's=1; a="; b="', 'a="; s=1; b="'],
])('%s has another reading to some service', (field) => {
  expect(readCookie(field, 's', 's').isUnclear).toBe(true)
})

it.each(['sess.id=1', 'sess id=1', 'sess[id=1', 'SESS_ID=1', 'sess_id[0]=1'])(
  '%s is sess_id to some service',
  (field) => {
    expect(readCookie(field, 'sess_id', 'sess_id')).toEqual({ values: [], isUnclear: true })
  },
)

it.each([
  ['s=1', ''],
  ['a=0; s=1; b=2', 'a=0; b=2'],
  ['s =1;b="; s=2', 'b="'],
  ['s; a=1', 's; a=1'],
])('%s without them is %s', (field, rest) => {
  expect(withoutCookies(field, new Set(['s']))).toBe(rest)
})

it.each([
  ['s=1; S=2; s[]=3; a=4', 'a=4'],
  ['a=0 s=1; b=2', 'b=2'],
  ['S=1;as=2; %73=3', 'as=2'],
  ['as=2;t=1', 'as=2;t=1'],
  ['ss=1; a=s', 'ss=1; a=s'],
])('%s without all that some service reads by that name is %s', (field, rest) => {
  expect(withoutCookies(field, new Set(), ['s'])).toBe(rest)
})
