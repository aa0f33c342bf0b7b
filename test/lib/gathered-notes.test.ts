import { expect, it } from 'vitest'
import { GatheredNotes } from '../../src/lib/gathered-notes.ts'

it('a note takes the place of one with its name although there is no room for another', async () => {
  const written: unknown[] = []
  const notes = new GatheredNotes<number>({ most: 1, write: async (some) => void written.push(...some) })
  expect([notes.add('a', 1), notes.add('b', 2), notes.add('a', 3)]).toEqual([true, false, true])
  await notes.close()
  expect(written).toEqual([['a', 3]])
})
