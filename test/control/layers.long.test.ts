import { describe, test } from 'vitest'
import { compareHistories, HISTORIES } from './layer-histories.ts'

describe('in 10,000 random histories the newest layer that lives is in force', () => {
  test.each(HISTORIES)('%s', (kind) => compareHistories(kind, 10_000), 1_200_000)
})
