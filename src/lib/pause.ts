import { setImmediate as turn } from 'node:timers/promises'

/** Lets the event loop go on during a long piece of work. */
export interface Pause {
  /** Whether the work has held the event loop for as long as it may. */
  isDue(): boolean
  /** Gives the event loop a turn. */
  take(): Promise<void>
}

/** @param afterMs how long the work may hold the event loop. Default 5 */
export function createPause(afterMs = 5): Pause {
  let since = performance.now()
  return {
    isDue: () => performance.now() - since >= afterMs,
    async take() {
      await turn()
      since = performance.now()
    },
  }
}
