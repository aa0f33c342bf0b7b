import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, TestRunner } from 'vitest'

/** What was started before the tests of the file that runs, in a `beforeAll` or at its top. */
const started: (() => Promise<void>)[] = []

/**
 * Ends what a test starts behind that test, and what all tests of a file share behind the last of them. What was started last ends first, so
 * that a gateway goes before the Redis that it asks. A program that is no test ends by itself what it starts.
 * @returns ends it now, and only once
 */
export function atEnd(end: () => unknown): () => Promise<void> {
  let ended: Promise<void> | undefined
  const endOnce = (): Promise<void> => (ended ??= (async () => void (await end()))())
  if (TestRunner.getCurrentTest() === undefined) started.push(endOnce)
  else onTestFinished(endOnce)
  return endOnce
}

/**
 * For `hold-responses.ts`, which every file of tests has: so it runs behind the hooks of the file itself. What cannot be ended does not keep
 * the rest from its end.
 * @throws AggregateError of all that failed
 */
export async function endStarted(): Promise<void> {
  const failures: unknown[] = []
  for (const end of started.splice(0).reverse()) await end().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw new AggregateError(failures, `not ended: ${failures.join(', ')}`)
}

/** A folder that is gone behind the tests which it is made for. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** @returns a store, a ledger or whatever else has to be closed, which is closed behind the tests for which it is opened */
export function closedAtEnd<T extends { close(): unknown }>(opened: T): T {
  atEnd(() => opened.close())
  return opened
}
