import type { ReplicaStore } from '../control/replicas.ts'
import type { ControlStore } from '../control/store.ts'
import type { TokenStore } from '../control/tokens.ts'
import type { FailureStore } from '../failures/histogram.ts'
import type { QuotaStore, UsageStore } from '../quota/store.ts'

/** Everything that outlives a process, in one place: counters, failure history, gateway tokens, run-time changes. */
export interface Store extends QuotaStore, UsageStore, FailureStore, TokenStore, ControlStore, ReplicaStore {
  /** Answers when the store can be used. @throws StoreError */
  ping(): Promise<void>
  close(): Promise<void>
}
