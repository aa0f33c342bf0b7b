import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { fieldName } from '../../../src/forward/client/header-name.ts'

it('an upstream that makes up a name for each answer does not fill the memory', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 100_000; i++) expect(fieldName(`X-Made-Up-${i}`).lower).toBe(`x-made-up-${i}`)
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000)
})
