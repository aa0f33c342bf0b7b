import type { Reporter, TestModule } from 'vitest/node'

/** Says at the end, alone on a line, how many tests passed and failed. */
export class Summary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state]++
      // A file that could not be loaded has no tests to fail.
      if (module.state() === 'failed' && module.children.size === 0) count.failed++
    }
    const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`
    console.log(`${count.passed} passed, ${count.failed} failed${skipped}`)
  }
}
