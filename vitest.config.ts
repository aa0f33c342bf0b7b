import { defineConfig } from 'vitest/config'
import { Summary } from './test/setup/summary.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', new Summary()],
  },
})
