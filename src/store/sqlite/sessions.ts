import type { DatabaseSync } from 'node:sqlite'
import type { SessionStore } from '../../control/session-store.ts'
import { attempt, transactions } from './database.ts'

/** One row for each session that was signed out, which is swept when the session would have ended. */
export function sqliteSessions(database: DatabaseSync, clock: () => number): SessionStore {
  const { writing } = transactions(database)
  const sql = {
    end: database.prepare('INSERT OR REPLACE INTO ended_sessions (id, ends) VALUES (?, ?)'),
    find: database.prepare('SELECT 1 FROM ended_sessions WHERE id = ?'),
  }
  return {
    endSession: (id, forMs) => attempt(() => writing(() => void sql.end.run(id, clock() + forMs))),
    isSessionEnded: (id) => attempt(() => sql.find.get(id) !== undefined),
  }
}
