import { expect, test } from 'vitest'
import { differences } from '../../src/dashboard/logic/diff.ts'

test('values are compared leaf by leaf', () => {
  const from = { mode: 'normal', baselines: { personal: { read: { '1h': 120, '1d': 9 } } } }
  const to = { mode: 'loose', baselines: { personal: { read: { '1h': 120 } } }, shadow: true }
  expect(differences(from, to)).toEqual([
    { path: 'baselines.personal.read.1d', from: 9, to: undefined },
    { path: 'mode', from: 'normal', to: 'loose' },
    { path: 'shadow', from: undefined, to: true },
  ])
})

test('what was made or taken away is shown by its leaves', () => {
  expect(differences(null, { reason: 'x', limits: {} })).toEqual([{ path: 'reason', from: undefined, to: 'x' }])
  expect(differences({ reason: 'x' }, null)).toEqual([{ path: 'reason', from: 'x', to: undefined }])
})

test('nothing differs between equal values, and null is nothing', () => {
  expect(differences({ a: { b: 1 } }, { a: { b: 1 } })).toEqual([])
  expect(differences(null, {})).toEqual([])
  expect(differences({ expiresAt: null }, {})).toEqual([])
})

test('a value instead of a map is shown', () => {
  expect(differences({ a: 1 }, { a: { b: 2 } })).toEqual([{ path: 'a.b', from: undefined, to: 2 }])
})

test('names of the language itself are only names', () => {
  expect(differences({}, JSON.parse('{"__proto__":1,"constructor":2}'))).toEqual([
    { path: '__proto__', from: undefined, to: 1 },
    { path: 'constructor', from: undefined, to: 2 },
  ])
})
