import type { QuotaReset } from '../../control/control-store.ts'
import { type Counter, empty, endsAt, running } from '../../quota/counter.ts'
import { isAccount } from '../../quota/grant.ts'
import { endedRuns, keptOf, longestKept, type Retention } from '../../quota/history.ts'
import type { HistoryScope } from '../../quota/history-store.ts'
import { pack, unpack } from '../packed-value.ts'
import { SCOPE_NUMBERS } from './counter-rows.ts'
import type { SqliteFile } from './database.ts'
import { historyRows, type TouchedHistories } from './history-rows.ts'

interface Windows {
  readonly windows: Uint8Array
}

/** A counter and its owner. */
interface Place {
  readonly scope: HistoryScope | 'global'
  readonly id: string
  readonly category: string
  readonly counter: Counter
}

/** Empties windows and moves their runs into the history, within a transaction. @param retention how long runs are kept */
export function sqliteEmptying(file: SqliteFile, clock: () => number, retention: () => Retention) {
  const touchHistories = historyRows(file.database)
  const at = 'category = ? AND scope = ? AND user = ?'

  /** @param left the part of the counter that stays. The rest goes into the history */
  function replace(
    { scope, id, category, counter }: Place,
    left: Counter,
    now: number,
    histories: TouchedHistories,
  ): void {
    const kept = keptOf(retention(), scope, id)
    if (kept !== null && scope !== 'global') {
      histories.add(scope, id, category, endedRuns(counter, left, kept), kept, now)
    }
    const place = [category, SCOPE_NUMBERS[scope], id]
    const keptMs = kept === null ? 0 : longestKept(kept) * 1000
    if (left.length === 0) file.run(`DELETE FROM counters WHERE ${at}`, ...place)
    else file.run(`UPDATE counters SET windows = ?, ends = ? WHERE ${at}`, pack(left), endsAt(left) + keptMs, ...place)
  }

  return {
    /** @returns used tokens by window before and after, as JSON */
    shared({ organisation, category, windows, all }: QuotaReset): { readonly before: string; readonly after: string } {
      const now = clock()
      const scope = organisation === undefined ? 'global' : 'organisation'
      const id = organisation ?? ''
      const place = [category, SCOPE_NUMBERS[scope], id]
      const row = file.first<Windows>(`SELECT windows FROM counters WHERE ${at}`, ...place)
      const counter = unpack(row?.windows)
      const { left, used } = empty(counter, windows, all, now)
      const histories = touchHistories()
      replace({ scope, id, category, counter }, running(left, now), now, histories)
      histories.writeBack()
      const none = Object.fromEntries(Object.keys(used).map((name) => [name, 0]))
      return { before: JSON.stringify(used), after: JSON.stringify(none) }
    },

    ofUser(user: string): void {
      const now = clock()
      const histories = touchHistories()
      const own = 'SELECT category, windows FROM counters WHERE scope = 0 AND user = ?'
      for (const { category, windows } of file.all<Windows & Pick<Place, 'category'>>(own, user)) {
        // A grant is given once, so what was taken from it stays taken.
        if (isAccount(category)) continue
        const counter = unpack(windows)
        replace({ scope: 'personal', id: user, category, counter }, empty(counter, [], true, now).left, now, histories)
      }
      histories.writeBack()
    },
  }
}
