import type { QuotaConfig } from '../config/config.ts'
import { type ChangeFollower, createChangeFollower } from '../control/change-follower.ts'
import { endOfGrant } from '../control/grants.ts'
import { type AccessKeys, createAccessKeys } from '../control/held-access-keys.ts'
import { storedOf } from '../control/state.ts'
import { type Adaptive, adaptive, UNREAD } from '../failures/adaptive.ts'
import type { FailureHistory } from '../failures/histogram.ts'
import { repeat } from '../lib/repeat.ts'
import type { Observer } from '../observe/observation.ts'
import type { Store } from '../store/store.ts'
import { openKeeper } from './keeper.ts'
import type { LimitsInForce } from './limits-in-force.ts'

/**
 * Keeps limits and access keys in line with what all replicas share: the changes at run time, and the adaptive factor. It
 * also makes scheduled changes.
 */
export interface LivePolicy {
  readonly control: ChangeFollower
  /** All access keys of the store, if the configuration in force accepts them. */
  readonly accessKeys: AccessKeys
  /** Counts charged and refused requests while a change is guarded. */
  readonly observer: Observer
  /** The adaptive factor in force and its reason, in every mode. */
  adaptive(): Adaptive
  /** The failures behind the factor; `null` until the store was read. */
  failures(): FailureHistory | null
  /** Reads once, and follows from then on. Without the store it begins with the file alone. Never rejects. */
  start(): Promise<void>
  /** Applies the present state to new limits. */
  bring(limits: LimitsInForce): void
  /** Calculates the adaptive factor anew. Never rejects. */
  adapt(): Promise<void>
  /** Never rejects. */
  close(): Promise<void>
}

export interface LivePolicyOptions {
  readonly store: Store
  readonly observe: Observer
  /** From the configuration in force. */
  readonly current: () => {
    readonly quota: QuotaConfig
    readonly limits: LimitsInForce
    readonly gatewayTokens: boolean
  }
  /** Is given the histogram each time it is read. */
  readonly onHistory?: (buckets: FailureHistory['buckets'], at: number) => void
}

const ADAPT_MS = 10_000
/** How often ended access keys are searched for. */
const REMOVE_MS = 60 * 60_000
/** How long a grant is kept after its end, in milliseconds: as long as `usage.keep` may keep its usage. */
const KEEP_GRANTS_MS = 400 * 86_400_000
/** How many grants one call forgets. */
const MOST_FORGOTTEN = 500

export function createLivePolicy({ store, observe, current, onHistory = () => {} }: LivePolicyOptions): LivePolicy {
  const control = createChangeFollower({ store, observe })
  const accessKeys = createAccessKeys({ store, control, wanted: () => current().gatewayTokens })
  const keeper = openKeeper({ store, control, quota: () => current().quota, observe })
  let drawn = UNREAD
  let failures: FailureHistory | null = null
  let timer: NodeJS.Timeout | undefined
  let stopRemoving = (): void => {}
  control.follow(() => bring(current().limits))

  function bring(limits: LimitsInForce): void {
    limits.enforce(control.state(), drawn.factor)
  }

  /**
   * The factor is computed in every mode, so that a change to mode `adaptive` has it at once. Without the store the last
   * factor stays.
   */
  async function adapt(): Promise<void> {
    const history = await store.readTallies().catch(() => null)
    if (history === null) return
    failures = history
    try {
      onHistory(history.buckets, history.at)
      const { factor: before } = drawn
      drawn = adaptive({ ...history, options: current().quota.adaptive })
      if (drawn.factor === before) return
      bring(current().limits)
      observe({ type: 'adaptive_factor', factor: drawn.factor })
    } catch (error) {
      observe({ type: 'internal_error', where: 'adaptive', error })
    }
  }

  async function start(): Promise<void> {
    adaptWithOthers()
    observe({ type: 'adaptive_factor', factor: drawn.factor })
    await Promise.all([control.start(), adapt()])
    keeper.start()
    stopRemoving = repeat(() => {
      void accessKeys.removeEnded()
      void forgetGrants()
    }, REMOVE_MS)
  }

  /** Forgets grants whose usage is not kept any more. Never rejects, because the next call tries again. */
  async function forgetGrants(): Promise<void> {
    const endedBefore = control.storeTime() - KEEP_GRANTS_MS
    const { grants } = storedOf(control.state())
    const old = [...grants].filter(([, { value }]) => endOfGrant(value) < endedBefore).map(([id]) => id)
    await store.forgetGrants(old.slice(0, MOST_FORGOTTEN)).catch(() => {})
  }

  /** Computes the factor at the same moments on all replicas and workers, so that all have the same one. */
  function adaptWithOthers(): void {
    timer = setTimeout(
      () => {
        adaptWithOthers()
        void adapt()
      },
      ADAPT_MS - (Date.now() % ADAPT_MS),
    ).unref()
  }

  async function close(): Promise<void> {
    clearTimeout(timer)
    stopRemoving()
    keeper.close()
    control.close()
    await accessKeys.close()
  }

  return {
    control,
    accessKeys,
    observer: keeper.observer,
    adaptive: () => drawn,
    failures: () => failures,
    start,
    bring,
    adapt,
    close,
  }
}
