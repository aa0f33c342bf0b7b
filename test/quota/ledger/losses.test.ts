import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Decision } from '../../../src/quota/charge.ts'
import { Losses } from '../../../src/quota/ledger/losses.ts'
import { runs } from '../../setup/runs.ts'

const AT = Date.UTC(2026, 10, 29)
const of = (batch: number | undefined): Decision => ({
  accepted: true,
  at: AT,
  personal: [],
  organisation: null,
  global: null,
  batch,
})

it('a store that has forgotten charges has lost those of the batches behind the last that it knows, to the token', () => {
  const losses = new Losses()
  losses.settled(1, 5, AT)
  losses.settled(2, 7, AT + 400)
  losses.settled(3, 11, AT + 1000)
  losses.settled(5, 13, AT + 2500)
  expect(losses.lost(3, 5)).toEqual({ tokens: 13, since: AT + 2500 })
  expect([3, 4, 5, 6, undefined].map((batch) => losses.has(of(batch)))).toEqual([false, true, true, false, false])
  losses.settled(6, 1, AT + 9000)
  expect(losses.lost(1, 6)).toEqual({ tokens: 19, since: AT + 400 })
})

it('a store that has forgotten charges has lost up to those of a second more, if thousands of batches were settled since', () => {
  const losses = new Losses()
  const most = 10_000
  for (let batch = 1; batch <= most; batch++) losses.settled(batch, 1, AT + batch)
  expect(losses.lost(most - 4000, most)).toEqual({ tokens: 4000, since: AT + most - 3999 })
  expect(losses.lost(1500, most - 4000)).toEqual({ tokens: 5000, since: AT + 1001 })
})

it('a store that has forgotten charges has those of no other second, if the clock of the store was set back between the two', () => {
  const losses = new Losses()
  losses.settled(1, 5, AT)
  for (let batch = 2; batch <= 10_000; batch++) losses.settled(batch, 1, AT - 60_000)
  expect(losses.lost(1, 10_000)).toEqual({ tokens: 9999, since: AT - 60_000 })
})

it('a store that has forgotten charges has lost those of each time that it has forgotten some', () => {
  const losses = new Losses()
  for (const batch of [1, 2, 3]) losses.settled(batch, 1, AT)
  losses.lost(1, 3)
  for (const batch of [4, 5, 6]) losses.settled(batch, 1, AT)
  expect(losses.lost(5, 6)).toEqual({ tokens: 1, since: AT })
  expect([1, 2, 3, 4, 5, 6].filter((batch) => losses.has(of(batch)))).toEqual([2, 3, 6])
})

it('a store that has forgotten charges has lost none if nothing was charged meanwhile', () => {
  const losses = new Losses()
  losses.settled(1, 5, AT)
  expect(losses.lost(1, 4)).toBeNull()
})

it('a store that has forgotten charges says what was lost, whatever the clock of the store does', () => {
  const step = fc.record({ tokens: fc.integer({ min: 1, max: 9 }), ms: fc.integer({ min: -1500, max: 1500 }) })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), fc.nat(), (steps, which) => {
      const losses = new Losses()
      let at = AT
      const batches = steps.map(({ tokens, ms }, i) => {
        at += ms
        losses.settled(i + 1, tokens, at)
        return { tokens, at }
      })
      const known = which % batches.length
      const lost = batches.slice(known)
      const tokens = lost.reduce((sum, batch) => sum + batch.tokens, 0)
      expect(losses.lost(known, batches.length)).toEqual({ tokens, since: lost[0]?.at })
    }),
    { numRuns: runs(300) },
  )
}, 60_000)
