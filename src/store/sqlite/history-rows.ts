import type { DatabaseSync } from 'node:sqlite'
import { type EndedRun, type Kept, longestKept } from '../../quota/history.ts'
import type { HistoryScope } from '../../quota/history-store.ts'
import { addRuns, packedHistoryEnds, takeBackRun } from '../packed-history.ts'
import { SCOPE_NUMBERS } from './counter-rows.ts'

/** The histories that one transaction works on, each read once. */
export interface TouchedHistories {
  /** @param kept for how long runs of this owner are kept */
  add(scope: HistoryScope, id: string, category: string, runs: readonly EndedRun[], kept: Kept, now: number): void
  /** Takes an amount back from an existing run. An amount below 0 is added. */
  takeBack(scope: HistoryScope, id: string, category: string, seconds: number, amount: number, startedAt: number): void
  writeBack(): void
}

interface Touched {
  readonly scope: HistoryScope
  readonly id: string
  runs: Buffer
  isChanged: boolean
}

const NOTHING = Buffer.alloc(0)

/** The histories as rows. Call the functions within a transaction. */
export function historyRows(database: DatabaseSync): () => TouchedHistories {
  const read = database.prepare('SELECT runs FROM history WHERE scope = ? AND user = ?')
  const write = database.prepare(
    `INSERT INTO history (scope, user, runs, ends) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET runs = excluded.runs, ends = excluded.ends`,
  )
  const forget = database.prepare('DELETE FROM history WHERE scope = ? AND user = ?')

  function find(scope: HistoryScope, id: string): Buffer {
    const row = read.get(SCOPE_NUMBERS[scope], id) as { runs: Uint8Array } | undefined
    return row === undefined ? NOTHING : Buffer.from(row.runs.buffer, row.runs.byteOffset, row.runs.length)
  }

  return () => {
    const touched = new Map<string, Touched>()

    function of(scope: HistoryScope, id: string): Touched {
      const key = `${scope}:${id}`
      const known = touched.get(key) ?? { scope, id, runs: find(scope, id), isChanged: false }
      touched.set(key, known)
      return known
    }

    return {
      add(scope, id, category, runs, kept, now) {
        if (runs.length === 0) return
        const one = of(scope, id)
        one.runs = addRuns(one.runs, category, runs, now, longestKept(kept))
        one.isChanged = true
      },
      takeBack(scope, id, category, seconds, amount, startedAt) {
        const one = of(scope, id)
        if (takeBackRun(one.runs, category, seconds, amount, startedAt)) one.isChanged = true
      },
      writeBack() {
        for (const { scope, id, runs, isChanged } of touched.values()) {
          if (!isChanged) continue
          if (runs.length === 0) forget.run(SCOPE_NUMBERS[scope], id)
          else write.run(SCOPE_NUMBERS[scope], id, runs, packedHistoryEnds(runs))
        }
      },
    }
  }
}
