import { describe, test } from 'vitest'
import { runs } from '../setup/runs.ts'
import { compareHistories, HISTORIES } from './layer-histories.ts'

describe('whatever is set for ever, for a while or later, moved, guarded, taken back, kept or undone, in force is the newest layer that lives', () => {
  test.each(HISTORIES)('%s', (kind) => compareHistories(kind, runs(1200)), 60_000)
})
