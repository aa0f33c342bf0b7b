import { REPLACED_MS, STAGED_MS, type StagedOverride } from '../../control/control-store.ts'
import type { SqliteFile } from './database.ts'

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
   * @returns whether it was put in force
   */
  use(staged: string, count: number, version: number | null): boolean
  /** The edition that a change has replaced; `null` if it is no longer kept. */
  replacedBy(version: number): number | null
  /** Whether a replaced edition that is still kept has an override of the user. */
  keepsReplaced(user: string): boolean
}

interface Edition {
  readonly edition: number
}

/** Rows of old editions are deleted later by the sweeper, in steps. */
export function sqliteEditions(file: SqliteFile, clock: () => number): Editions {
  function stage(...[staged, overrides, of]: Parameters<Editions['stage']>): void {
    const { edition } = file.first<Edition>(
      `INSERT INTO editions (staged, size, ends) VALUES (?, ?, ?)
         ON CONFLICT (staged) DO UPDATE SET size = size + excluded.size, ends = excluded.ends RETURNING edition`,
      ...[staged, overrides.length, clock() + STAGED_MS],
    ) as Edition
    const into = of === 'users' ? 'overrides (edition, user' : 'organisation_overrides (edition, organisation'
    for (const [id, { version, value }] of overrides) {
      file.run(`INSERT INTO ${into}, version, value) VALUES (?, ?, ?, ?)`, edition, id, version, JSON.stringify(value))
    }
  }

  function use(staged: string, count: number, version: number | null): boolean {
    if (count === 0) stage(staged, [], 'users')
    const whole = 'SELECT edition FROM editions WHERE staged = ? AND size = ? AND ends > ?'
    const found = file.first<Edition>(whole, staged, count, clock())
    if (version === null || found === undefined) {
      file.run('UPDATE editions SET staged = NULL, ends = 0 WHERE staged = ?', staged)
      return false
    }
    // Only one replaced edition is kept for an undo.
    file.run(`UPDATE editions SET staged = NULL, ends = 0 WHERE staged GLOB '${REPLACED}*'`)
    const name = `${REPLACED}${version}`
    file.run('UPDATE editions SET staged = ?, ends = ? WHERE ends IS NULL', name, clock() + REPLACED_MS)
    file.run('UPDATE editions SET staged = NULL, ends = NULL WHERE edition = ?', found.edition)
    return true
  }

  function replacedBy(version: number): number | null {
    const kept = 'SELECT edition FROM editions WHERE staged = ? AND ends > ?'
    return file.first<Edition>(kept, `${REPLACED}${version}`, clock())?.edition ?? null
  }

  function keepsReplaced(user: string): boolean {
    const kept = `SELECT 1 FROM editions JOIN overrides USING (edition) WHERE staged GLOB '${REPLACED}*' AND ends > ? AND user = ?`
    return file.first(kept, clock(), user) !== undefined
  }

  return { stage, use, replacedBy, keepsReplaced }
}
