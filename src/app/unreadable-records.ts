import { repeat } from '../lib/repeat.ts'
import { together } from '../lib/serialize.ts'
import type { Observer, UnreadableRecord } from '../observe/observation.ts'

/** Reports each unreadable record of a store when it is found, and when it is readable or gone. */
export interface UnreadableRecords {
  /** The Observer for the store, which reports an unreadable record each time it reads the record. */
  readonly observe: Observer
  stop(): void
}

/** How many are remembered. Further ones are not reported, because thousands say no more than these. */
const MOST = 1000

/** How often to check whether a record is readable again or gone, in milliseconds. */
const LOOK_MS = 60_000

/**
 * @param isUnreadable asks the store in use
 * @param everyMs default a minute
 */
export function createUnreadableRecords(
  observe: Observer,
  isUnreadable: (list: string, id: string) => Promise<boolean>,
  everyMs = LOOK_MS,
): UnreadableRecords {
  const standing = new Map<string, UnreadableRecord>()
  let stop = (): void => {}

  function note({ kind, list, id }: UnreadableRecord): void {
    const key = `${list} ${id}`
    if (standing.has(key) || standing.size >= MOST) return
    if (standing.size === 0) stop = repeat(() => void look(), everyMs)
    standing.set(key, { kind, list, id })
    observe({ type: 'unreadable_record', kind, list, id })
  }

  const look = together(async () => {
    try {
      for (const [key, record] of standing) {
        if (await isUnreadable(record.list, record.id)) continue
        standing.delete(key)
        observe({ type: 'unreadable_record_over', ...record })
      }
    } catch {
      // The store does not respond, which is reported elsewhere. The next look goes on.
    } finally {
      if (standing.size === 0) stop()
    }
  })

  return { observe: (seen) => (seen.type === 'unreadable_record' ? note(seen) : observe(seen)), stop: () => stop() }
}
