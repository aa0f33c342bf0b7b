import type { AlertStore } from '../alerts/alert-store.ts'
import type { AccessKeyStore } from '../control/access-key-store.ts'
import type { ControlStore } from '../control/control-store.ts'
import type { GuardStore } from '../control/guard-tally.ts'
import type { HandoverStore } from '../control/handover-store.ts'
import type { KeySetStore } from '../control/kept-key-sets.ts'
import type { SessionStore } from '../control/session-store.ts'
import type { FailureStore } from '../failures/histogram.ts'
import type { HistoryStore } from '../quota/history-store.ts'
import type { KnownUserStore } from '../quota/known-users.ts'
import type { MembershipStore } from '../quota/memberships.ts'
import type { QuotaStore, UsageStore } from '../quota/quota-store.ts'
import type { ReplicaStore } from '../replicas/presence.ts'
import type { UsageLogStore } from '../usage/usage-log-store.ts'

/**
 * Everything that outlives a process, in one place: counters and their history, known users, plans of users, failure history, series and
 * refusals, access keys, run-time changes, sessions that were signed out, signing keys of issuers, events of alerts.
 */
export interface Store
  extends QuotaStore,
    KnownUserStore,
    MembershipStore,
    UsageStore,
    HistoryStore,
    FailureStore,
    UsageLogStore,
    AccessKeyStore,
    ControlStore,
    GuardStore,
    SessionStore,
    HandoverStore,
    KeySetStore,
    ReplicaStore,
    AlertStore {
  /**
   * Whether a record that was reported as unreadable still exists and still cannot be read.
   * @param list the list in the report
   * @param id the name of the record in the report
   * @throws StoreError
   */
  isUnreadable(list: string, id: string): Promise<boolean>
  /** Resolves when the store can be used. @throws StoreError */
  ping(): Promise<void>
  close(): Promise<void>
}
