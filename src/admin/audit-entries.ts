import type { AuditEntry, ControlStore } from '../control/control-store.ts'

/**
 * All entries that the audit keeps, the newest first.
 * @param before only entries with a lower number. Default all @param step how many entries are read at once
 * @throws StoreError
 */
export async function* auditEntries(
  store: Pick<ControlStore, 'readAudit'>,
  before: number | null = null,
  step = 500,
): AsyncGenerator<AuditEntry> {
  for (let from = before; ; ) {
    const some: readonly AuditEntry[] = await store.readAudit(from, step)
    yield* some
    if (some.length < step) return
    from = some.at(-1)?.version ?? null
  }
}
