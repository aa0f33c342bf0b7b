import { repeat } from '../lib/repeat.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import type { StoreHealth } from './store-health.ts'

/**
 * Whether the store has taken a charge of this process once: a store that responds may lack a right, a script, or room. A store that fails
 * after that fails for all processes alike, so that none of them is taken out of service for it.
 */
export interface FirstCharge {
  /** Tries it, and goes on until it is taken. Resolves after the first attempt. Never rejects. */
  start(): Promise<void>
  wasTaken(): boolean
  stop(): void
}

const AGAIN_MS = 1000

export function createFirstCharge(ledger: Pick<Ledger, 'ask' | 'outage'>, health: StoreHealth): FirstCharge {
  let taken = false
  let stop = (): void => {}

  async function attempt(): Promise<void> {
    if (taken || health.failure() !== null) return
    // It is asked twice, as a script goes to Redis in full the first time and by its hash (EVALSHA) from then on.
    for (let times = 0; times < 2; times++) await ledger.ask()
    if (ledger.outage() !== null) return
    taken = true
    stop()
  }

  return {
    start: async () => {
      stop = repeat(() => void attempt(), AGAIN_MS)
      await attempt()
    },
    wasTaken: () => taken,
    stop: () => stop(),
  }
}
