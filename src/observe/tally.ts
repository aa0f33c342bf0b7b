import { type FailureStore, NOTHING, plus, type Tally } from '../failures/histogram.ts'
import { StoreError } from '../quota/store.ts'
import type { Observation, Observer, RequestDone } from './observation.ts'

export interface TallyKeeperOptions {
  readonly store: Pick<FailureStore, 'addTally'>
  /** How often the sum goes to the store, in milliseconds. Default 1000. */
  readonly flushMs?: number
  /** Is told of a failure of the store, operation `tally`. */
  readonly observe: Observer
}

export interface TallyKeeper {
  readonly observer: Observer
  /** Sends what is left, once, and stops. Never rejects. */
  close(): Promise<void>
}

/** Counts forwarded requests for the failure histogram and adds the sum to the store, one call at a time. */
export function createTallyKeeper({ store, flushMs = 1000, observe }: TallyKeeperOptions): TallyKeeper {
  let sum = NOTHING
  let sending: Promise<void> | null = null
  const timer = setInterval(send, flushMs).unref()

  function send(): Promise<void> {
    if (sending === null && sum.total > 0) {
      const part = sum
      sum = NOTHING
      sending = store
        .addTally(part)
        .catch((error) => failed(error, part))
        .finally(() => {
          sending = null
        })
    }
    return sending ?? Promise.resolve()
  }

  /** Kept only when certainly not applied: a tally is no batch, and sent again it might count twice. */
  function failed(error: unknown, part: Tally): void {
    if (error instanceof StoreError) {
      if (error.applied === 'no') sum = plus(sum, part)
      observe({ type: 'store_failed', operation: 'tally', reason: error.reason, message: error.message })
    } else observe({ type: 'internal_error', where: 'tally', error })
  }

  return {
    observer: function count(observation: Observation) {
      if (observation.type === 'request' && observation.httpStatus !== null) sum = plus(sum, tallyOf(observation))
    },
    async close() {
      clearInterval(timer)
      await sending
      await send()
    },
  }
}

const KINDS = {
  fine: tallies({ ...NOTHING, total: 1 }),
  failed: tallies({ ...NOTHING, total: 1, status0: 1 }),
  error: tallies({ ...NOTHING, total: 1, status5xx: 1 }),
}

/** Of one request: where it counts for the adaptive mode, and where not. */
function tallies(tally: Tally): { readonly health: Tally; readonly aside: Tally } {
  return { health: tally, aside: { ...tally, aside: 1, asideFailed: tally.status0 + tally.status5xx } }
}

/** A client that left says nothing about the backend. */
function tallyOf({ outcome, httpStatus, health }: RequestDone): Tally {
  const kind = KINDS[outcome === 'aborted' ? 'fine' : kindOf(httpStatus)]
  return health ? kind.health : kind.aside
}

function kindOf(httpStatus: number | null): keyof typeof KINDS {
  if (httpStatus === 0) return 'failed'
  return httpStatus !== null && httpStatus >= 500 ? 'error' : 'fine'
}
