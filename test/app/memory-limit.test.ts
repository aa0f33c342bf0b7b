import { expect, test } from 'vitest'
import { memoryProblem } from '../../src/app/memory-limit.ts'

const MIB = 1024 * 1024

test('less than 256 MiB for the container are reported with the cure', () => {
  expect(memoryProblem(128 * MIB)).toMatch(/^this process may use 128 MiB of memory, .* below 256 MiB .*MemoryMax\)$/)
  for (const limit of [256 * MIB, 512 * MIB, 0, 2 ** 64]) expect(memoryProblem(limit), String(limit)).toBeNull()
})
