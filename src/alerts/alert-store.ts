import type { Happening, Noticed } from './alert.ts'
import type { AlertScope } from './alert-kinds.ts'

/**
 * Keeps the happenings that were noticed until they are delivered, for all processes. Every implementation passes
 * test/alerts/alert-store.suite.ts.
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
   * Claims each happening and keeps it as an event, in one step. `known`: the happening was claimed before, or a later run of its
   * place was. `full`: the alert has as many pending events as are kept, and nothing is claimed. At most MOST_RAISED at a time.
   * @throws StoreError; the same call may be made again
   */
  raiseAlerts(events: readonly NewEvent[]): Promise<readonly Raised[]>
  /**
   * Takes events that are due, the longest due first. For `leaseMs` milliseconds no other process gets them.
   * @param wanted the alerts, and for each the most events to take
   * @throws StoreError
   */
  takeAlerts(wanted: readonly Wanted[], leaseMs: number): Promise<readonly TakenEvent[]>
  /** Notes how an attempt ended. Nothing happens if the event was taken again since, or is not pending. @throws StoreError */
  finishAlert(event: Pick<TakenEvent, 'id' | 'alert' | 'attempt'>, outcome: Outcome): Promise<void>
  /** Reads the newest events of these alerts, and how many of each are pending. @throws StoreError */
  readAlerts(alerts: readonly string[], most: number): Promise<readonly AlertEvents[]>
  /** Lists all alerts with pending events, and some that had such events, configured or not. @throws StoreError */
  listAlerts(): Promise<readonly KnownAlert[]>
  /**
   * Gives up the pending events of an alert that were raised `ageMs` milliseconds ago or earlier. If none is pending after that, the name
   * of the alert is forgotten.
   * @returns how many events were given up
   * @throws StoreError
   */
  giveUpAlerts(alert: string, ageMs: number, error: string): Promise<number>
}

/** The most events in one call of `raiseAlerts`. This bounds how long the call holds the store. */
export const MOST_RAISED = 64
/** The most pending events of one alert. */
export const MOST_PENDING = 1000
/** How many events of one alert are kept after they were delivered or given up. */
export const MOST_DONE = 100
/** How long a claim outlives its run, in milliseconds: a process may be late to raise an event. */
export const CLAIM_MARGIN_MS = 3_600_000
/** How long events of an alert are kept when no process asks for them, in milliseconds. */
export const KEEP_EVENTS_MS = 8 * 86_400_000

export interface NewEvent extends Noticed {
  /** A random id. */
  readonly id: string
  /** The receiver of its alert, as `targetOf` of app/alerts.ts makes it. */
  readonly target: string
}

export interface KnownAlert {
  readonly alert: string
  /** The target of the event that was raised last. */
  readonly target: string
  readonly pending: number
}

export type Raised = 'stored' | 'known' | 'full'

export interface Wanted {
  readonly alert: string
  readonly most: number
}

/** An event that has to be delivered now. */
export interface TakenEvent {
  readonly id: string
  readonly alert: string
  readonly happening: Happening<AlertScope>
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** Both times are by the store's clock, in milliseconds since the epoch. */
  readonly raisedAt: number
  readonly takenAt: number
}

export type Outcome =
  | { readonly state: 'delivered' }
  | { readonly state: 'given_up'; readonly error: string }
  /** The event is tried again after so many milliseconds. `null`: no error is known. */
  | { readonly state: 'pending'; readonly inMs: number; readonly error: string | null }

/** Times in milliseconds since the epoch. */
export interface AlertRecord {
  readonly id: string
  readonly happening: Happening<AlertScope>
  readonly state: Outcome['state']
  readonly raisedAt: number
  readonly attempts: number
  /** The earliest time of the next attempt; `null` if there is none. */
  readonly dueAt: number | null
  /** The time at which the event was delivered or given up; `null` while it is pending. */
  readonly doneAt: number | null
  /** The error of the last attempt that failed; `null` if none has failed. */
  readonly lastError: string | null
}

export interface AlertEvents {
  readonly alert: string
  readonly pending: number
  /** The events, newest first. */
  readonly events: readonly AlertRecord[]
}
