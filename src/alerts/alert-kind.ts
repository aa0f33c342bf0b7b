import type { Bucket } from '../failures/histogram.ts'
import type { Observer } from '../observe/observation.ts'
import type { QuotaStore } from '../quota/quota-store.ts'
import type { Alert, Noticed } from './alert.ts'

/**
 * Everything that one kind of alert is. The configuration, the events, the API and the page take it from here. `word.SCOPE` in both
 * languages of the page names each scope. A kind uses nothing of Node, because the page's types are made of it too.
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
  /** What is `used` and `limit` of its happenings, as the second half of a sentence; `null` if they are tokens of a window. */
  readonly counts: string | null
  watcher(tools: WatcherTools): AlertWatcher<Alert & Readonly<Record<Key, number | null>>>
}

interface AlertScopeMeaning {
  /** What is watched, for the reference. */
  readonly watches: string
  /** Name of the subject in events; `null` if the scope has none. */
  readonly subject: string | null
}

/** An integer. */
interface AlertKey {
  readonly min: number
  readonly max: number
  readonly default: number
  /** What it says, as the first sentence of a description. */
  readonly means: string
}

/** What receivers read. */
interface AlertEventForm {
  /** The end of its `type`. */
  readonly type: string
  /** Under which name an event has what is used, and the limit, in the order of an event. */
  readonly amounts: Readonly<Record<string, 'used' | 'limit'>>
  /** The name of the end. */
  readonly end: string
}

export interface WatcherTools {
  readonly store: Pick<QuotaStore, 'readUsage'>
  /** Keeps no process alive. @param ms milliseconds */
  readonly pause: (ms: number) => Promise<void>
  readonly observe: Observer
  /** Takes what was noticed. @param onFull to be called if there is no room for it: it is noticed again later */
  readonly raise: (noticed: Noticed, onFull: () => void) => void
}

export interface AlertWatcher<A> {
  /** These alerts of the kind are in force from now on. */
  configure(alerts: readonly A[]): void
  /** Looks at what happens in this process. */
  readonly observer?: Observer
  /** Looks at the histogram that each process reads anyway. @param at the store's time of the reading, in milliseconds since the epoch */
  noteFailures?(buckets: readonly Bucket[], at: number): void
  close?(): void
}
