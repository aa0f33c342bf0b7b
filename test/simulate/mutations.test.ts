import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MUTATIONS } from './mutations.ts'

const root = join(import.meta.dirname, '..', '..')

test.each(MUTATIONS)('the mistake "$name" can still be made: its text stands in the source once', ({ edits }) => {
  for (const { file, from } of edits) {
    expect(readFileSync(join(root, file), 'utf8').split(from).length - 1, `${file}: ${from}`).toBe(1)
  }
})
