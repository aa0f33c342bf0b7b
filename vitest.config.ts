import { configDefaults, defineConfig } from 'vitest/config'
import { Summary } from './test/setup/summary.ts'

const BROWSER = 'test/browser/**/*.test.ts'

export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Most files wait for clocks and processes, so more of them than cores can run at once.
    maxWorkers: 3,
    reporters: ['default', new Summary()],
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, BROWSER],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // After the others: a browser takes a core, and deadlines of the fault tests would pass for want of one.
        test: { name: 'browser', include: [BROWSER], sequence: { groupOrder: 1 } },
      },
    ],
  },
})
