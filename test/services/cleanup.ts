import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** What was started last ends first. */
export function afterTest(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** A folder that is gone after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-services-'))
  afterTest(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
