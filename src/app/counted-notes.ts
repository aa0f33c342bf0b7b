import { repeat } from '../lib/repeat.ts'
import { together } from '../lib/serialize.ts'
import type { HistoryStore } from '../quota/history-store.ts'

/** Keeps in the store since when each window of the configuration is counted, and takes away what need not be kept any more. */
export interface CountedNotes {
  /** Notes them for the first time, and again and again: a store that lost its data knows so within a minute. Never rejects. */
  start(): Promise<void>
  /** Notes those of another configuration, which the process begins with now. Never rejects. */
  note(): Promise<void>
  stop(): void
}

const EVERY_MS = 60_000

/** @param names of the windows that are in force @param everyMs how often they are noted again. Default a minute */
export function createCountedNotes(
  store: Pick<HistoryStore, 'noteCounted' | 'forgetRuns'>,
  names: () => string[],
  everyMs = EVERY_MS,
): CountedNotes {
  let stop: (() => void) | null = null
  /** Whether the store has not heard yet what this process began with. */
  let isAnew = true
  const note = (): Promise<void> => {
    const wasAnew = isAnew
    isAnew = false
    return store.noteCounted(names(), wasAnew).then(
      (isDue) => {
        if (isDue) void forget()
      },
      // A store that fails is reported by whoever needs it, and is asked again a minute later.
      () => {
        isAnew ||= wasAnew
      },
    )
  }

  /** Nobody waits for it: what need not be kept any more is shown to nobody. */
  const forget = together(() => store.forgetRuns().catch(() => {}))

  return {
    start() {
      stop = repeat(() => void note(), everyMs)
      return note()
    },
    note() {
      isAnew = true
      return note()
    },
    stop: () => stop?.(),
  }
}
