import type { DatabaseSync } from 'node:sqlite'
import { REPLACED_MS, STAGED_MS, type StagedOverride } from '../../control/control-store.ts'

/** The edition of the overrides of users and of organisations that is in force, for a statement. There is always one. */
export const IN_FORCE = '(SELECT edition FROM editions WHERE ends IS NULL)'

/** An edition that was replaced has this name and the number of the change that replaced it, so that an undo finds it. */
const REPLACED = 'replaced:'

/** Overrides that are put in force together. Its functions belong into a transaction. */
export interface Editions {
  stage(staged: string, overrides: readonly StagedOverride[], of: 'users' | 'organisations'): void
  /**
   * Uses up what was staged, and puts it in force if it is whole.
   * @param count how many must be there
   * @param version of the change that puts it in force; `null` if it is not to be
   * @returns whether it was
   */
  use(staged: string, count: number, version: number | null): boolean
  /** The edition that a change has replaced; `null` if it is not kept any more. */
  replacedBy(version: number): number | null
  /** Whether an edition that was replaced, and is kept, has an override of the user. */
  keepsReplaced(user: string): boolean
}

/** Rows that an edition leaves behind are deleted by the sweeper, some at a time. */
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
    // There is one for an undo.
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
