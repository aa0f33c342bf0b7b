import { type Onces, oncesOf, type Remembered } from '../../quota/once.ts'
import { type Ending, type EndingList, type Endings, firstIn, timesOf } from '../endings.ts'
import { attempt, type SqliteFile } from './database.ts'
import type { Row } from './rows.ts'

/** Further lists of the table. In Redis the scripts keep them themselves. */
type OwnList =
  /** Charges that are remembered by a key, as JSON. */
  | 'once'
  /** The number of a process's last flush. */
  | 'flush'
  /** The run and the threshold that an alert has claimed. */
  | 'claim'

/** The rows of all lists whose entries expire by themselves. The sweeper deletes old rows. Use these functions within a transaction. */
export function endingRows(file: SqliteFile) {
  return {
    /** Finds expired entries too, until they are swept. */
    find(list: EndingList | OwnList, id: string): Omit<Ending, 'id'> | undefined {
      const row = file.first<Row>('SELECT text, ends FROM endings WHERE list = ? AND id = ?', list, id)
      // Somebody else may have written values of other types.
      return row && { text: String(row.text), ends: Number(row.ends) }
    },
    /** @param text `null` deletes the entry */
    put(list: EndingList | OwnList, id: string, text: string | null, ends: number): void {
      if (text === null) file.run('DELETE FROM endings WHERE list = ? AND id = ?', list, id)
      else file.run('INSERT OR REPLACE INTO endings (list, id, text, ends) VALUES (?, ?, ?, ?)', list, id, text, ends)
    },
  }
}

export function sqliteEndings(file: SqliteFile, clock: () => number): Endings {
  const rows = endingRows(file)

  function lasting(list: EndingList, id: string, now: number) {
    const row = rows.find(list, id)
    return row !== undefined && row.ends > now ? { text: row.text, leftMs: row.ends - now } : null
  }

  function putLaterNow(list: EndingList, id: string, text: string, forMs: number, mostMs: number): void {
    const now = clock()
    const { leftMs } = lasting(list, id, now) ?? { leftMs: 0 }
    if (forMs >= Math.min(leftMs, mostMs)) rows.put(list, id, text, now + forMs)
  }

  function textsAt(list: EndingList, ids: readonly string[], at: number) {
    return ids.map((id) => lasting(list, id, at)?.text ?? null)
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
    look: (list, id) => attempt(() => lasting(list, id, clock())?.text ?? null),
    read: (list, ids) => attempt(() => textsAt(list, ids, clock())),
    readAt: (list, ids) =>
      attempt(() => {
        const at = clock()
        return { at, texts: textsAt(list, ids, at) }
      }),
    readOne: (list, id) => attempt(() => lasting(list, id, clock())),
    put: (entries, forMs) =>
      file.write(() => {
        for (const entry of entries) rows.put(...entry, clock() + forMs)
      }),
    putLater: (...entry) => file.write(() => putLaterNow(...entry)),
    take: (list, id) => file.write(() => takeNow(list, id)),
    noteTimes: (list, ids, forMs) =>
      file.write(() => {
        const now = clock()
        return ids.map((id) => noteTime(list, id, now, forMs))
      }),
  }
}

/** The charges that are remembered by a key. Use this within a transaction. */
export function onceRows(file: SqliteFile): Onces {
  const rows = endingRows(file)
  return oncesOf(
    (key) => {
      const row = rows.find('once', key)
      return row === undefined ? undefined : (JSON.parse(row.text) as Remembered)
    },
    (key, remembered, ends) =>
      rows.put('once', key, remembered === undefined ? null : JSON.stringify(remembered), ends),
  )
}
