import type { Bucket } from '../failures/histogram.ts'
import type { Observer } from '../observe/observation.ts'
import type { QuotaStore } from '../quota/quota-store.ts'
import type { Alert, Noticed } from './alert.ts'

/**
 * Everything about one kind of alert. The configuration, the events, the API and the page take it from here. `word.SCOPE` names
 * each scope in both languages of the page. A kind uses nothing of Node, because the page's types are made from it too.
 *
 * @typeParam Key names of its own keys
 */
export interface AlertKind<Key extends string = never> {
  /** Each value of `scope` that makes an alert one of this kind. */
  readonly scopes: Readonly<Record<string, AlertScopeMeaning>>
  /** Whether its alerts name a window, by category and name. */
  readonly hasWindow: boolean
  /** Its own keys, as the API spells them. The file has `minRequests` as `min_requests`. */
  readonly keys: Readonly<Record<string, AlertKey>>
  readonly event: AlertEventForm
  /** The meaning of `used` and `limit` in its happenings, as the second half of a sentence; `null` for tokens of a window. */
  readonly counts: string | null
  watcher(tools: WatcherTools): AlertWatcher<Alert & Readonly<Record<Key, number | null>>>
}

interface AlertScopeMeaning {
  /** The subject of the watch, for the reference. */
  readonly watches: string
  /** Name of the subject in events; `null` if the scope has none. */
  readonly subject: string | null
}

/** A key of an alert whose value is an integer. */
interface AlertKey {
  readonly min: number
  readonly max: number
  readonly default: number
  /** The meaning, as the first sentence of a description. */
  readonly means: string
}

/** The event in the form for receivers. */
interface AlertEventForm {
  /** The last part of the event's `type`. */
  readonly type: string
  /** The names under which an event has the used amount and the limit, in the order of an event. */
  readonly amounts: Readonly<Record<string, 'used' | 'limit'>>
  /** The name under which an event has the end of the run or the half hour. */
  readonly end: string
}

export interface WatcherTools {
  readonly store: Pick<QuotaStore, 'readUsage'>
  /** Waits, and keeps no process alive meanwhile. @param ms milliseconds */
  readonly pause: (ms: number) => Promise<void>
  readonly observe: Observer
  /** Takes a happening. @param onFull to be called if there is no room for it: it is noticed again later */
  readonly raise: (noticed: Noticed, onFull: () => void) => void
}

export interface AlertWatcher<A> {
  /** These alerts of the kind are in force from now on. */
  configure(alerts: readonly A[]): void
  /** Looks at what happens in this process. */
  readonly observer?: Observer
  /** Reads the histogram, which each process reads anyway. @param at the store's time of the reading, in milliseconds since the epoch */
  noteFailures?(buckets: readonly Bucket[], at: number): void
  close?(): void
}
