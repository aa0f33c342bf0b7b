import type { Reporter, TestModule } from 'vitest/node'

/** Says at the end, alone on a line, how many tests passed and failed. */
export class Summary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    // An error that came of no test fails the run as well, though every test of its file has passed.
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      const before = count.failed
      for (const test of module.children.allTests()) count[test.result().state]++
      // A file fails without a test of its own if it cannot be loaded, or if what it ends with throws.
      if (module.state() === 'failed' && count.failed === before) count.failed++
    }
    const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`
    console.log(`${count.passed} passed, ${count.failed} failed${skipped}`)
  }
}
