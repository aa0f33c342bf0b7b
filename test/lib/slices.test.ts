import fc from 'fast-check'
import { expect, it } from 'vitest'
import { inSlices, sortedInSlices } from '../../src/lib/slices.ts'

it('sorting in slices gives what sorting at once gives', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { maxLength: 30 }), fc.nat(300), async (texts, times) => {
      const many = Array.from({ length: times }, (_, i) => texts.map((text) => text + ((i * 7919) % 311))).flat()
      expect(await sortedInSlices(many)).toEqual([...many].sort())
    }),
    { numRuns: 40 },
  )
}, 60_000)

it('others have their turn between two slices', async () => {
  const slices = inSlices(0)
  let turns = 0
  const other = setImmediate(() => turns++)
  while (!slices.isOver());
  await slices.next()
  clearImmediate(other)
  expect(turns).toBe(1)
})
