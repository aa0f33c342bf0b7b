import type { DatabaseSync } from 'node:sqlite'
import { KEEP_EVENTS_MS } from '../../alerts/alert-store.ts'

const SWEEP_MS = 60_000
const SWEEP_ROWS = 1000
/** 20,000 rows a second, with the event loop free in between. */
const SWEEP_SOON_MS = 50

/**
 * Deletes counters, histories and entries whose time is over, and overrides that were replaced or never put in force.
 * It deletes a few rows at a time, and goes on soon if there are more.
 * @returns stops it
 */
export function startSweeper(database: DatabaseSync, clock: () => number): () => void {
  const deletions = [
    database.prepare(
      `DELETE FROM endings WHERE (list, id) IN (SELECT list, id FROM endings WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    database.prepare(
      `DELETE FROM counters WHERE (category, scope, user) IN
         (SELECT category, scope, user FROM counters WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    database.prepare(
      `DELETE FROM history WHERE rowid IN (SELECT rowid FROM history WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    database.prepare(
      `DELETE FROM overrides WHERE (edition, user) IN
         (SELECT edition, user FROM editions JOIN overrides USING (edition) WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    database.prepare(
      `DELETE FROM organisation_overrides WHERE (edition, organisation) IN
         (SELECT edition, organisation FROM editions JOIN organisation_overrides USING (edition) WHERE ends <= ?
          LIMIT ${SWEEP_ROWS})`,
    ),
    database.prepare(
      `DELETE FROM editions WHERE ends <= ? AND NOT EXISTS (SELECT 1 FROM overrides WHERE edition = editions.edition)
         AND NOT EXISTS (SELECT 1 FROM organisation_overrides WHERE edition = editions.edition)`,
    ),
    database.prepare(
      `DELETE FROM forgotten WHERE (digest, category) IN
         (SELECT digest, category FROM forgotten WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    database.prepare('DELETE FROM forgotten_salt WHERE ends <= ?'),
    database.prepare(
      `DELETE FROM alert_events WHERE id IN
         (SELECT id FROM alert_events WHERE raised <= ? - ${KEEP_EVENTS_MS} LIMIT ${SWEEP_ROWS})`,
    ),
  ]
  let timer = setTimeout(sweep, SWEEP_MS).unref()

  function sweep(): void {
    let swept = 0
    try {
      swept = Math.max(...deletions.map((deletion) => Number(deletion.run(clock()).changes)))
    } catch {
      // Another process holds the file, or the disk fails, as the next charge will report. The rows can wait a minute.
    }
    timer = setTimeout(sweep, swept === SWEEP_ROWS ? SWEEP_SOON_MS : SWEEP_MS).unref()
  }

  return () => clearTimeout(timer)
}
