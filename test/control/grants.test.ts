import { expect, test } from 'vitest'
import { grantsInForce, isLive } from '../../src/control/grants.ts'
import { inForce, NOTHING_CHANGED } from '../../src/control/in-force.ts'
import { type GivenGrant, UNCHANGED } from '../../src/control/state.ts'

const given = (of: Partial<GivenGrant>): GivenGrant => {
  return { category: 'read', tokens: 5, givenAt: 1000, until: 9000, reason: 'an audit', endedAt: null, ...of }
}
const stored = (of: Readonly<Record<string, Partial<GivenGrant>>>) => ({
  ...UNCHANGED,
  version: 7,
  grants: new Map(Object.entries(of).map(([id, each]) => [id, { version: 1, value: given(each) }])),
})

test('grants of one owner and category come in the order of their ends, whatever the order in which they were given', () => {
  const { grants } = stored({
    b: { user: 'bob', until: 8000 },
    a: { user: 'bob', until: 9000 },
    c: { user: 'bob', until: 7000 },
    d: { user: 'bob', category: 'write' },
    e: { organisation: 'bob' },
  })
  const { users, organisations } = grantsInForce(grants) ?? {}
  const ids = (of: ReadonlyMap<string, readonly { id: string }[]> | undefined) =>
    [...(of ?? [])].map(([category, all]) => [category, all.map(({ id }) => id).join()])
  expect(ids(users?.get('bob'))).toEqual([
    ['read', 'c,b,a'],
    ['write', 'd'],
  ])
  expect(ids(organisations?.get('bob'))).toEqual([['read', 'e']])
})

test('grants that nobody has are no table at all, so that no request looks for one', () => {
  expect(grantsInForce(new Map())).toBeUndefined()
})

test('grants of the same state are sorted once, however often they are asked for', () => {
  const { grants } = stored({ a: { user: 'bob' } })
  expect(grantsInForce(grants)).toBe(grantsInForce(grants))
})

test('grants are in force until their end or until an administrator has ended them, also by a clock that is set back', () => {
  const state = stored({ a: { user: 'bob', until: 8000 }, b: { user: 'bob' }, c: { user: 'bob', endedAt: 2000 } })
  const at = (moment: number, last = NOTHING_CHANGED) => inForce(state, last, moment)
  const before = at(7999)
  expect([...before.state.grants.keys()]).toEqual(['a', 'b'])
  expect(at(7998, before)).toBe(before)
  const after = at(8000, before)
  expect([...after.state.grants.keys()]).toEqual(['b'])
  expect([...at(7999, after).state.grants.keys()]).toEqual(['a', 'b'])
  expect(isLive(given({ endedAt: 2000 }), 1000)).toBe(false)
})
