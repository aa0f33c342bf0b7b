import { defineConfig } from 'vitest/config'
import { Summary } from './test/setup/summary.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most files wait for clocks and processes, so more of them than cores can run at once.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', new Summary()],
  },
})
