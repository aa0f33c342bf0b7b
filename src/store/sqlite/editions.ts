import type { DatabaseSync } from 'node:sqlite'
import { REPLACED_MS, STAGED_MS, type StagedOverride } from '../../control/control-store.ts'

/** The edition in force of the overrides of users and organisations, as a part of a statement. There is always one. */
export const IN_FORCE = '(SELECT edition FROM editions WHERE ends IS NULL)'

/** The prefix of the name of a replaced edition, followed by the number of the change that replaced it, for an undo. */
const REPLACED = 'replaced:'

/** Overrides that are put in force together. Call the functions within a transaction. */
export interface Editions {
  stage(staged: string, overrides: readonly StagedOverride[], of: 'users' | 'organisations'): void
  /**
   * Removes the staged edition, and puts it in force if it is complete.
   * @param count how many overrides must be staged
   * @param version of the change that puts it in force; `null` to discard it
   * @returns whether it was complete
   */
  use(staged: string, count: number, version: number | null): boolean
  /** The edition that a change has replaced; `null` if it is no longer kept. */
  replacedBy(version: number): number | null
  /** Whether a replaced edition that is still kept has an override of the user. */
  keepsReplaced(user: string): boolean
}

/** Rows of old editions are deleted later by the sweeper, in steps. */
export function sqliteEditions(database: DatabaseSync, clock: () => number): Editions {
  const sql = {
    grow: database.prepare(
      `INSERT INTO editions (staged, size, ends) VALUES (?, ?, ?)
         ON CONFLICT (staged) DO UPDATE SET size = size + excluded.size, ends = excluded.ends RETURNING edition`,
    ),
    users: database.prepare('INSERT INTO overrides (edition, user, version, value) VALUES (?, ?, ?, ?)'),
    organisations: database.prepare(
      'INSERT INTO organisation_overrides (edition, organisation, version, value) VALUES (?, ?, ?, ?)',
    ),
    find: database.prepare('SELECT edition FROM editions WHERE staged = ? AND size = ? AND ends > ?'),
    giveUp: database.prepare('UPDATE editions SET staged = NULL, ends = 0 WHERE staged = ?'),
    forget: database.prepare(`UPDATE editions SET staged = NULL, ends = 0 WHERE staged GLOB '${REPLACED}*'`),
    retire: database.prepare('UPDATE editions SET staged = ?, ends = ? WHERE ends IS NULL'),
    replaced: database.prepare('SELECT edition FROM editions WHERE staged = ? AND ends > ?'),
    replacedOf: database.prepare(
      `SELECT 1 FROM editions JOIN overrides USING (edition) WHERE staged GLOB '${REPLACED}*' AND ends > ? AND user = ?`,
    ),
    putInForce: database.prepare('UPDATE editions SET staged = NULL, ends = NULL WHERE edition = ?'),
  }

  function stage(...[staged, overrides, of]: Parameters<Editions['stage']>): void {
    const { edition } = sql.grow.get(staged, overrides.length, clock() + STAGED_MS) as { edition: number }
    for (const [id, { version, value }] of overrides) sql[of].run(edition, id, version, JSON.stringify(value))
  }

  function use(staged: string, count: number, version: number | null): boolean {
    if (count === 0) stage(staged, [], 'users')
    const found = sql.find.get(staged, count, clock()) as { edition: number } | undefined
    if (version === null || found === undefined) {
      sql.giveUp.run(staged)
      return false
    }
    // Only one replaced edition is kept for an undo.
    sql.forget.run()
    sql.retire.run(`${REPLACED}${version}`, clock() + REPLACED_MS)
    sql.putInForce.run(found.edition)
    return true
  }

  function replacedBy(version: number): number | null {
    const found = sql.replaced.get(`${REPLACED}${version}`, clock()) as { edition: number } | undefined
    return found?.edition ?? null
  }

  return { stage, use, replacedBy, keepsReplaced: (user) => sql.replacedOf.get(clock(), user) !== undefined }
}
