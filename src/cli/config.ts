import { setTimeout as sleep } from 'node:timers/promises'
import { type LoadResult, loadConfig } from '../config/load.ts'
import { formatProblems } from '../config/problems.ts'
import type { Store } from '../store/store.ts'

/** The file named by `-c`, or by TOLLGATE_CONFIG, or tollgate.yaml. */
export function configFile(option: string | undefined): string {
  return option ?? process.env.TOLLGATE_CONFIG ?? 'tollgate.yaml'
}

/** The option that every command takes, for `parseArgs`. */
export const CONFIG_OPTION = { config: { type: 'string', short: 'c' } } as const

/** Loads a configuration and prints what is to be said about it to the standard error. `null` where it has problems. */
export async function loadOrTell(file: string): Promise<Extract<LoadResult, { ok: true }> | null> {
  const loaded = await loadConfig(file, process.env)
  const problems = [...(loaded.ok ? [] : loaded.problems), ...loaded.warnings]
  if (problems.length > 0) console.error(formatProblems(problems))
  return loaded.ok ? loaded : null
}

const PATIENCE_MS = 3000

/** A Redis store connects in the background; a command waits for it a little. @throws StoreError after that */
export async function reachable(store: Pick<Store, 'ping'>): Promise<void> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await store.ping()
    } catch (error) {
      if (Date.now() > until) throw error
      await sleep(20)
    }
  }
}
