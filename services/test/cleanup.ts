import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * What was started last ends first. Not by an `afterEach` of this module: files that share a process load it once, and only the
 * first of them would have the hook.
 */
export function afterTest(cleanup: () => unknown): void {
  onTestFinished(async () => {
    await cleanup()
  })
}

/** A folder that is gone after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-services-'))
  afterTest(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
