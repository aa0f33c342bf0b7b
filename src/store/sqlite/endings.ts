import type { DatabaseSync } from 'node:sqlite'
import { type Onces, oncesOf, type Remembered } from '../../quota/once.ts'
import { type EndingList, type Endings, firstIn, timesOf } from '../endings.ts'
import { attempt, transactions } from './database.ts'

/** Further lists of the table. In Redis the scripts keep them themselves. */
type OwnList =
  /** Charges that are remembered by a key, as JSON. */
  | 'once'
  /** The number of a process's last flush. */
  | 'flush'
  /** The run and the threshold that an alert has claimed. */
  | 'claim'

/** The rows of all lists whose entries expire by themselves. The sweeper deletes old rows. Use these functions within a transaction. */
export function endingRows(database: DatabaseSync) {
  const find = database.prepare('SELECT text, ends FROM endings WHERE list = ? AND id = ?')
  const put = database.prepare('INSERT OR REPLACE INTO endings (list, id, text, ends) VALUES (?, ?, ?, ?)')
  const drop = database.prepare('DELETE FROM endings WHERE list = ? AND id = ?')
  return {
    /** Finds expired entries too, until they are swept. */
    find: (list: EndingList | OwnList, id: string) =>
      find.get(list, id) as { readonly text: string; readonly ends: number } | undefined,
    /** @param text `null` deletes the entry */
    put: (list: EndingList | OwnList, id: string, text: string | null, ends: number) =>
      void (text === null ? drop.run(list, id) : put.run(list, id, text, ends)),
  }
}

export function sqliteEndings(database: DatabaseSync, clock: () => number): Endings {
  const { writing } = transactions(database)
  const rows = endingRows(database)

  function lasting(list: EndingList, id: string, now: number) {
    const row = rows.find(list, id)
    return row !== undefined && row.ends > now ? { text: String(row.text), leftMs: row.ends - now } : null
  }

  function putLaterNow(list: EndingList, id: string, text: string, forMs: number, mostMs: number): void {
    const now = clock()
    const { leftMs } = lasting(list, id, now) ?? { leftMs: 0 }
    if (forMs >= Math.min(leftMs, mostMs)) rows.put(list, id, text, now + forMs)
  }

  function noteTime(list: EndingList, id: string, now: number, forMs: number): number {
    // A first time in the future was noted while the clock was ahead.
    const first = Math.min(firstIn(lasting(list, id, now)?.text ?? '') ?? now, now)
    rows.put(list, id, timesOf(first, now + forMs), now + forMs)
    return now - first
  }

  function takeNow(list: EndingList, id: string): string | null {
    const found = lasting(list, id, clock())
    rows.put(list, id, null, 0)
    return found?.text ?? null
  }

  return {
    placeOf: (list) => `endings ${list}`,
    read: (list, ids) =>
      attempt(() => {
        const at = clock()
        return { at, texts: ids.map((id) => lasting(list, id, at)?.text ?? null) }
      }),
    readOne: (list, id) => attempt(() => lasting(list, id, clock())),
    put: (entries, forMs) =>
      attempt(() => writing(() => entries.forEach((entry) => void rows.put(...entry, clock() + forMs)))),
    putLater: (...entry) => attempt(() => writing(() => putLaterNow(...entry))),
    take: (list, id) => attempt(() => writing(() => takeNow(list, id))),
    noteTimes: (list, ids, forMs) =>
      attempt(() =>
        writing(() => {
          const now = clock()
          return ids.map((id) => noteTime(list, id, now, forMs))
        }),
      ),
  }
}

/** The charges that are remembered by a key. Use this within a transaction. */
export function onceRows(database: DatabaseSync): Onces {
  const rows = endingRows(database)
  return oncesOf(
    (key) => {
      const row = rows.find('once', key)
      return row === undefined ? undefined : (JSON.parse(row.text) as Remembered)
    },
    (key, remembered, ends) =>
      rows.put('once', key, remembered === undefined ? null : JSON.stringify(remembered), ends),
  )
}
