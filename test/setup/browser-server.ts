import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { LAUNCH } from './browser.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the browser of this run listens. */
    readonly browser: string
  }
}

/** Before the tests of the dashboard: one browser for all their processes, which ends, with what it wrote, when they have. */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const server = await chromium.launchServer({ ...LAUNCH, host: '127.0.0.1' })
  project.provide('browser', server.wsEndpoint())
  return () => server.close()
}
