import { repeat } from '../lib/repeat.ts'
import { together } from '../lib/serialize.ts'
import type { HistoryStore } from '../quota/history-store.ts'

/** Notes in the store since when each configured window is counted, and deletes runs that need not be kept any more. */
export interface CountedNotes {
  /** Notes the windows at once and then every minute, so that a store without its data knows them again within a minute. Never rejects. */
  start(): Promise<void>
  /** Notes the windows of a new configuration. Never rejects. */
  note(): Promise<void>
  stop(): void
}

const EVERY_MS = 60_000

/** @param names of the windows in force @param everyMs how often they are noted again. Default a minute */
export function createCountedNotes(
  store: Pick<HistoryStore, 'noteCounted' | 'forgetRuns'>,
  names: () => string[],
  everyMs = EVERY_MS,
): CountedNotes {
  let stop: (() => void) | null = null
  /** Whether the store has not noted the windows yet since this process started or reloaded. */
  let isAnew = true
  const note = (): Promise<void> => {
    const wasAnew = isAnew
    isAnew = false
    return store.noteCounted(names(), wasAnew).then(
      (isDue) => {
        if (isDue) void forget()
      },
      // Other calls report that the store fails. The windows are noted again a minute later.
      () => {
        isAnew ||= wasAnew
      },
    )
  }

  /** Nobody waits for the deletion, because runs that need not be kept any more are shown to nobody. */
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
