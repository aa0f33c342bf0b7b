import { expect, it } from 'vitest'
import { WAYS } from '../setup/ways.ts'
import { runIntegrity } from './integrity.ts'
import { describeBad } from './records.ts'

/** A little of `npm run integrity`: other worlds each time. A failure names the command that gives its world again. */
const SECONDS = 5

it.each(WAYS)('no byte of one response is in another, and each response comes, by $name', async (way) => {
  const bad: string[] = []
  const sums = await runIntegrity({
    seed: Date.now() % 1_000_000,
    seconds: SECONDS,
    ways: [way],
    onBad: (found) => bad.push(describeBad(found)),
  })
  expect(bad).toEqual([])
  // Or it says nothing.
  expect(sums.get(way.name)?.responses).toBeGreaterThan(50)
})
