import { expect, it } from 'vitest'
import { WAYS } from '../setup/ways.ts'
import { runIntegrity } from './integrity.ts'
import { describeBad } from './records.ts'

/** A little of `npm run integrity`, which takes other worlds each time: here they are those in which a fault was found once. */
const SECONDS = 5
const SEED = 185_303

it.each(WAYS)('no byte of one response is in another, and each response comes, by $name', async (way) => {
  const bad: string[] = []
  const sums = await runIntegrity({
    seed: SEED,
    seconds: SECONDS,
    ways: [way],
    onBad: (found) => bad.push(describeBad(found)),
  })
  expect(bad).toEqual([])
  // Or it says nothing.
  expect(sums.get(way.name)?.responses).toBeGreaterThan(50)
})
