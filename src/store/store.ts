import type { TokenStore } from '../control/tokens.ts'
import type { FailureStore } from '../failures/histogram.ts'
import type { QuotaStore } from '../quota/store.ts'

/** Everything that outlives a process, in one place: counters, failure history, gateway tokens. */
export interface Store extends QuotaStore, FailureStore, TokenStore {
  /** Answers when the store can be used. @throws StoreError */
  ping(): Promise<void>
  close(): Promise<void>
}
