import { KEEP_EVENTS_MS } from '../../alerts/alert-store.ts'
import type { SqliteFile } from './database.ts'

const SWEEP_MS = 60_000
const SWEEP_ROWS = 1000
/** The pause in milliseconds if there are more rows: 20,000 rows of a table go in a second, with the event loop free in between. */
const SWEEP_SOON_MS = 50

/** Expired rows, by the table, the columns that identify a row, and where such rows are found. */
const OVER: readonly (readonly [table: string, key: string, over: string])[] = [
  ['counters', 'category, scope, user', 'counters WHERE ends <= ?'],
  ['history', 'rowid', 'history WHERE ends <= ?'],
  ['endings', 'list, id', 'endings WHERE ends <= ?'],
  ['forgotten', 'digest, category', 'forgotten WHERE ends <= ?'],
  ['forgotten_salt', 'id', 'forgotten_salt WHERE ends <= ?'],
  ['overrides', 'edition, user', 'editions JOIN overrides USING (edition) WHERE ends <= ?'],
  [
    'organisation_overrides',
    'edition, organisation',
    'editions JOIN organisation_overrides USING (edition) WHERE ends <= ?',
  ],
  [
    'editions',
    'edition',
    `editions WHERE ends <= ? AND NOT EXISTS (SELECT 1 FROM overrides WHERE edition = editions.edition)
       AND NOT EXISTS (SELECT 1 FROM organisation_overrides WHERE edition = editions.edition)`,
  ],
  ['alert_events', 'id', `alert_events WHERE raised <= ? - ${KEEP_EVENTS_MS}`],
]

/**
 * Deletes counters, histories and entries whose time is over, and overrides that were replaced or never put in force.
 * It deletes a few rows at a time, and goes on soon if there are more.
 * @returns a function that stops it
 */
export function startSweeper(file: SqliteFile, clock: () => number): () => void {
  let timer = setTimeout(sweep, SWEEP_MS).unref()

  function sweep(): void {
    let swept = 0
    try {
      const each = OVER.map(([table, key, over]) =>
        file.run(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${over} LIMIT ${SWEEP_ROWS})`, clock()),
      )
      swept = Math.max(...each)
    } catch {
      // Another process holds the file, or the disk fails, as the next charge will report. The rows can wait a minute.
    }
    timer = setTimeout(sweep, swept === SWEEP_ROWS ? SWEEP_SOON_MS : SWEEP_MS).unref()
  }

  return () => clearTimeout(timer)
}
