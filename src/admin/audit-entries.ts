import type { AuditEntry, ControlStore } from '../control/control-store.ts'

/** How many entries are read at once. */
const STEP = 500

/** Everything in the audit, newest first. @throws StoreError */
export async function* auditEntries(store: Pick<ControlStore, 'readAudit'>): AsyncGenerator<AuditEntry> {
  for (let before: number | null = null; ; ) {
    const some: readonly AuditEntry[] = await store.readAudit(before, STEP)
    yield* some
    if (some.length < STEP) return
    before = some.at(-1)?.version ?? null
  }
}
