import { repeat } from '../lib/repeat.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import type { StoreHealth } from './store-health.ts'

/**
 * Whether the store has ever accepted a charge of this process. A store that responds may still lack a right, a script or room. If it
 * fails later, it fails for all processes, so none of them is taken out of service.
 */
export interface FirstCharge {
  /** Tries until a charge is accepted. Resolves after the first attempt. Never rejects. */
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
    // Asked twice, because Redis gets a script in full the first time, and by its hash (EVALSHA) later.
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
