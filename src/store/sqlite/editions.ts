import type { DatabaseSync } from 'node:sqlite'
import { STAGED_MS } from '../../control/control-store.ts'
import type { Packed, UserOverride, Versioned } from '../../control/state.ts'

/** The edition of the overrides that is in force, for a statement. There is always one. */
export const IN_FORCE = '(SELECT edition FROM editions WHERE ends IS NULL)'

/** Overrides that are put in force together. Both functions belong into a transaction. */
export interface Editions {
  stage(
    staged: string,
    overrides: readonly (readonly [user: string, override: Versioned<Packed<UserOverride>>])[],
  ): void
  /**
   * Uses up what was staged, and puts it in force if it is whole.
   * @param count how many must be there @param isWanted whether it is to be put in force @returns whether it was
   */
  use(staged: string, count: number, isWanted: boolean): boolean
}

/** Rows that an edition leaves behind are deleted by the sweeper, some at a time. */
export function sqliteEditions(database: DatabaseSync, clock: () => number): Editions {
  const sql = {
    grow: database.prepare(
      `INSERT INTO editions (staged, size, ends) VALUES (?, ?, ?)
         ON CONFLICT (staged) DO UPDATE SET size = size + excluded.size, ends = excluded.ends RETURNING edition`,
    ),
    add: database.prepare('INSERT INTO overrides (edition, user, version, value) VALUES (?, ?, ?, ?)'),
    find: database.prepare('SELECT edition FROM editions WHERE staged = ? AND size = ? AND ends > ?'),
    giveUp: database.prepare('UPDATE editions SET staged = NULL, ends = 0 WHERE staged = ?'),
    retire: database.prepare('UPDATE editions SET ends = 0 WHERE ends IS NULL'),
    putInForce: database.prepare('UPDATE editions SET staged = NULL, ends = NULL WHERE edition = ?'),
  }

  function stage(...[staged, overrides]: Parameters<Editions['stage']>): void {
    const { edition } = sql.grow.get(staged, overrides.length, clock() + STAGED_MS) as { edition: number }
    for (const [user, { version, value }] of overrides) sql.add.run(edition, user, version, JSON.stringify(value))
  }

  function use(staged: string, count: number, isWanted: boolean): boolean {
    if (count === 0) stage(staged, [])
    const found = sql.find.get(staged, count, clock()) as { edition: number } | undefined
    if (!isWanted || found === undefined) {
      sql.giveUp.run(staged)
      return false
    }
    sql.retire.run()
    sql.putInForce.run(found.edition)
    return true
  }

  return { stage, use }
}
