import { expect, test } from 'vitest'
import { type Entry, ORDERS, pageOf, type RosterWish } from '../../src/admin/roster.ts'

const calm: Entry = {
  ...{ id: 'calm', plans: [], organisation: null, users: 1, state: 'room', override: false, shadow: false },
  ...{ share: 0.1, tokens: 10, resetAt: null, fullAt: null, refused: 0 },
}
const list = (...parts: readonly Partial<Entry>[]) => ({
  entries: parts.map((part) => ({ ...calm, ...part })),
  complete: true,
})
const ALL = { query: '', order: 'use', offset: 0, limit: 10 } as const
const idsOf = async (roster: ReturnType<typeof list>, wish: Partial<RosterWish>) =>
  (await pageOf(roster, { ...ALL, ...wish })).entries.map(({ id }) => id)

test('each order of a roster has first what one looks for, the other way round after a minus, and last whoever has no value', async () => {
  const roster = list(
    { id: 'b', share: 0.5, tokens: 5, refused: 1, resetAt: 200, fullAt: 0, plans: ['team'], organisation: 'zoo' },
    { id: 'a', share: 0.9, tokens: 4, refused: 3, resetAt: 300, fullAt: 90, plans: ['free'], organisation: 'acme' },
    { id: 'c', share: 0.1, tokens: 9, refused: 0, override: true, users: 4 },
  )
  const orders = Object.fromEntries(
    await Promise.all(ORDERS.map(async (order) => [order, (await idsOf(roster, { order })).join('')])),
  )
  expect(orders).toEqual({
    ...{ use: 'abc', tokens: 'cba', refused: 'abc', full: 'bac', reset: 'bac', override: 'cab', plan: 'abc' },
    ...{ organisation: 'abc', users: 'cab', name: 'abc', '-use': 'cba', '-tokens': 'abc', '-refused': 'cba' },
    ...{ '-full': 'abc', '-reset': 'abc', '-override': 'abc', '-plan': 'bac', '-organisation': 'bac' },
    ...{ '-users': 'abc', '-name': 'cba' },
  })
})

test('a roster of thousands turns to any page, each name is on one page, and the counts are of all', async () => {
  const many = list(...Array.from({ length: 3000 }, (_, i) => ({ id: `u${i}`, share: (i * 7919) % 3000 })))
  const seen: string[] = []
  for (let offset = 0; offset < 3000; offset += 700) seen.push(...(await idsOf(many, { offset, limit: 700 })))
  expect([seen.length, new Set(seen).size, seen[0]]).toEqual([
    3000,
    3000,
    many.entries.find(({ share }) => share === 2999)?.id,
  ])
  const { total, counts } = await pageOf(many, { ...ALL, query: 'U29', near: true })
  expect([total, counts.all, counts.near, counts.blocked]).toEqual([111, 111, 111, 0])
})

test('whoever has the very id that is searched for is the first of a roster in any order', async () => {
  const roster = list({ id: 'bobby', share: 1 }, { id: 'bob', share: 0 }, { id: 'BOB', share: 2 })
  expect(await idsOf(roster, { query: 'bob' })).toEqual(['bob', 'BOB', 'bobby'])
})
