import type { TestProject } from 'vitest/node'
import type { Access } from './api.ts'
import { startCluster } from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** How this run's cluster is reached. */
    readonly cluster: Access
  }
}

/** One cluster for all tests, which is gone with all that it wrote when they have ended. */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const { access, stop } = await startCluster()
  project.provide('cluster', access)
  return stop
}
