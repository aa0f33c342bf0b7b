import { expect, it } from 'vitest'
import { foldedName, isFieldName } from '../../src/lib/field-names.ts'

const GOOD = "!#$%&'*+-.^_`|~"

it('a name of a field has letters, digits and fifteen signs, as RFC 9110 says', () => {
  const all = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
  expect(all.filter((char) => isFieldName(char) && !/[0-9A-Za-z]/.test(char))).toEqual([...GOOD])
  expect([...'09azAZ'].every((char) => isFieldName(char))).toBe(true)
})

it.each(['', 'a b', 'a:', 'a\n', 'é', ' a'])('%j is no name of a field', (text) => {
  expect(isFieldName(text)).toBe(false)
})

it('a name is as long as it may be at most', () => {
  expect([isFieldName('abc', 3), isFieldName('abcd', 3)]).toEqual([true, false])
})

it('names that CGI makes one variable of are one name when they are folded', () => {
  for (const name of ['X_Remote-USER', 'X.Remote_User', "x'remote~user", 'X-Remote-User'])
    expect(foldedName(name)).toBe('x-remote-user')
})
