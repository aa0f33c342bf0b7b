import { expect, test } from 'vitest'
import { didYouMean, suggest } from '../../src/lib/suggest.ts'

test('the nearest known word is suggested', () => {
  expect(suggest('categry', ['cost', 'category', 'public'])).toBe('category')
  expect(suggest('conect_timeout', ['connect_timeout', 'idle_timeout'])).toBe('connect_timeout')
  expect(suggest('raed', ['write', 'read'])).toBe('read')
})

test('letter case and separators make no difference', () => {
  expect(suggest('connectTimeout', ['connect_timeout'])).toBe('connect_timeout')
  expect(suggest('CONNECT-TIMEOUT', ['connect_timeout'])).toBe('connect_timeout')
})

test('nothing is suggested if nothing is near', () => {
  expect(suggest('colour', ['listen', 'upstream'])).toBeNull()
  expect(suggest('5h', ['1h', '1d'])).toBeNull()
  expect(suggest('', ['a'])).toBeNull()
  expect(suggest('x'.repeat(100_000), ['xx'])).toBeNull()
})

test('a suggestion is a question, and no suggestion is an empty text', () => {
  expect(didYouMean('lisen', ['listen'])).toBe('; did you mean "listen"?')
  expect(didYouMean('colour', ['listen'])).toBe('')
})
