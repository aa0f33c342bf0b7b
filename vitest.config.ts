import { defineConfig } from 'vitest/config'
import { Summary } from './test/setup/summary.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most files wait for clocks and processes; on two cores one at a time takes half as long again.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', new Summary()],
  },
})
