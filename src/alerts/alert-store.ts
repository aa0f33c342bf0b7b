import type { Happening, Noticed } from './alert.ts'
import type { AlertScope } from './alert-kinds.ts'

/**
 * Keeps what was noticed until it is delivered, for all processes. Every implementation passes test/alerts/alert-store.suite.ts.
 *
 * | An event  | Event                                         | Next                                                |
 * |-----------|-----------------------------------------------|-----------------------------------------------------|
 * |           | `raiseAlerts`, and no other claimed the place | pending, due at once                                |
 * | pending   | `takeAlerts`                                  | pending, due again at the end of the lease          |
 * | pending   | `finishAlert` with a pause                    | pending, due after it                               |
 * | pending   | `finishAlert` for good                        | delivered or given up; the newest are shown         |
 */
export interface AlertStore {
  /**
   * Claims each happening and keeps it as an event, in one step. `known`: it was claimed before, or a later run of its place was.
   * `full`: as many events of its alert are pending as are kept; nothing is claimed. At most MOST_RAISED at a time.
   * @throws StoreError; the same call may be made again
   */
  raiseAlerts(events: readonly NewEvent[]): Promise<readonly Raised[]>
  /**
   * Events that are due, those that are due for longest first, and nobody else's for so long.
   * @param wanted alerts, each with the most events of it
   * @throws StoreError
   */
  takeAlerts(wanted: readonly Wanted[], leaseMs: number): Promise<readonly TakenEvent[]>
  /** Says what came of an attempt. Nothing happens if the event was taken again since, or is not pending. @throws StoreError */
  finishAlert(event: Pick<TakenEvent, 'id' | 'alert' | 'attempt'>, outcome: Outcome): Promise<void>
  /** The newest events of these alerts, and how many of each are pending. @throws StoreError */
  readAlerts(alerts: readonly string[], most: number): Promise<readonly AlertEvents[]>
  /** All alerts with pending events, and others that had some, whether or not any configuration has them. @throws StoreError */
  listAlerts(): Promise<readonly KnownAlert[]>
  /**
   * Gives up what is pending of an alert and was raised so long ago, and forgets the name of an alert of which nothing is pending then.
   * @returns how many events that were
   * @throws StoreError
   */
  giveUpAlerts(alert: string, ageMs: number, error: string): Promise<number>
}

/** Events in one call of `raiseAlerts`: it bounds how long it holds the store. */
export const MOST_RAISED = 64
/** Pending events of one alert. */
export const MOST_PENDING = 1000
/** How many events of one alert are kept after they were delivered or given up. */
export const MOST_DONE = 100
/** How long a claim outlives its run, in milliseconds: a process may raise late what it noticed before. */
export const CLAIM_MARGIN_MS = 3_600_000
/** How long events of an alert are kept when no process asks for them, in milliseconds. */
export const KEEP_EVENTS_MS = 8 * 86_400_000

export interface NewEvent extends Noticed {
  /** Random. */
  readonly id: string
  /** Where events of its alert go, as `targetOf` of app/alerts.ts makes it. */
  readonly target: string
}

export interface KnownAlert {
  readonly alert: string
  /** Of the event that was raised last. */
  readonly target: string
  readonly pending: number
}

export type Raised = 'stored' | 'known' | 'full'

export interface Wanted {
  readonly alert: string
  readonly most: number
}

/** An event that is to be delivered now. */
export interface TakenEvent {
  readonly id: string
  readonly alert: string
  readonly happening: Happening<AlertScope>
  /** Counts from 1. */
  readonly attempt: number
  /** Both by the store's clock, in milliseconds since the epoch. */
  readonly raisedAt: number
  readonly takenAt: number
}

export type Outcome =
  | { readonly state: 'delivered' }
  | { readonly state: 'given_up'; readonly error: string }
  /** To be tried again after so many milliseconds. `null`: nothing is known to be wrong. */
  | { readonly state: 'pending'; readonly inMs: number; readonly error: string | null }

/** Times in milliseconds since the epoch. */
export interface AlertRecord {
  readonly id: string
  readonly happening: Happening<AlertScope>
  readonly state: Outcome['state']
  readonly raisedAt: number
  readonly attempts: number
  /** When it is tried again, at the earliest; `null` if it is not. */
  readonly dueAt: number | null
  /** When it was delivered or given up; `null` while it is pending. */
  readonly doneAt: number | null
  /** Why the last attempt that failed did; `null` if none has. */
  readonly lastError: string | null
}

export interface AlertEvents {
  readonly alert: string
  readonly pending: number
  /** Newest first. */
  readonly events: readonly AlertRecord[]
}
