import type { QuotaConfig } from '../config/config.ts'
import { type ControlKeeper, createControlKeeper } from '../control/keeper.ts'
import { adaptive } from '../failures/adaptive.ts'
import type { Observer } from '../observe/observation.ts'
import type { Store } from '../store/store.ts'
import type { Enforcement } from './enforcement.ts'

/** Keeps the limits in force up to what all replicas share: the changes at run time, and the adaptive factor. */
export interface Following {
  readonly control: ControlKeeper
  /** The adaptive factor, in every mode: 1 before it is read for the first time. */
  factor(): number
  /** Reads for the first time and follows from then on. Without the store it begins with the file alone. Never rejects. */
  start(): Promise<void>
  /** Puts what is known now in force. */
  bring(enforcement: Enforcement): void
  /** Draws the adaptive factor anew. Never rejects. */
  adapt(): Promise<void>
  close(): void
}

export interface FollowingOptions {
  readonly store: Store
  readonly observe: Observer
  /** Of the configuration in force. */
  readonly current: () => { readonly quota: QuotaConfig; readonly enforcement: Enforcement }
}

const ADAPT_MS = 10_000

export function createFollowing({ store, observe, current }: FollowingOptions): Following {
  const control = createControlKeeper({ store, observe })
  let factor = 1
  let timer: NodeJS.Timeout | undefined
  control.follow(() => bring(current().enforcement))

  function bring(enforcement: Enforcement): void {
    enforcement.enforce(control.state(), factor)
  }

  /** Also in other modes: who changes the mode to `adaptive` has the factor at once. Without the store the last one stays. */
  async function adapt(): Promise<void> {
    const history = await store.readTallies().catch(() => null)
    if (history === null) return
    try {
      const { factor: next } = adaptive({ ...history, options: current().quota.adaptive })
      if (next === factor) return
      factor = next
      bring(current().enforcement)
      observe({ type: 'adaptive_factor', factor })
    } catch (error) {
      observe({ type: 'internal_error', where: 'adaptive', error })
    }
  }

  async function start(): Promise<void> {
    timer = setInterval(adapt, ADAPT_MS).unref()
    observe({ type: 'adaptive_factor', factor })
    await Promise.all([control.start(), adapt()])
  }

  function close(): void {
    clearInterval(timer)
    control.close()
  }

  return { control, factor: () => factor, start, bring, adapt, close }
}
