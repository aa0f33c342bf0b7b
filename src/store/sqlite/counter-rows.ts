import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { SCOPE_NAMES, type ScopeName } from '../../quota/charged-scopes.ts'
import { pack } from '../packed-value.ts'

/** Not the name of any counter, because the configuration allows no empty name. */
const NO_CATEGORY = ''

/** The numbers of the column `scope`. */
export const SCOPE_NUMBERS = { personal: 0, global: 1, organisation: 2 } as const satisfies Record<ScopeName, number>

export function scopeOf(number: number): ScopeName {
  return SCOPE_NAMES.find((scope) => SCOPE_NUMBERS[scope] === number) ?? 'global'
}

/** The stored part of a counter. */
export interface CounterRow {
  /** The windows, as `pack` writes them. */
  readonly windows: Uint8Array
  /** When the row may be forgotten, in milliseconds since the epoch. */
  readonly ends: number
}

/** The counters as rows. The id is that of a user or organisation, and empty for the global scope. */
export class CounterRows {
  readonly #read
  readonly #write
  readonly #change
  readonly #forget

  constructor(database: DatabaseSync) {
    this.#read = database.prepare('SELECT windows, ends FROM counters WHERE category = ? AND scope = ? AND user = ?')
    // Rows as objects with named columns would be slow to create and slow to read.
    this.#read.setReturnArrays(true)
    this.#write = database.prepare(
      `INSERT INTO counters (category, scope, user, windows, ends) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET windows = excluded.windows, ends = excluded.ends`,
    )
    this.#change = database.prepare('UPDATE counters SET windows = ? WHERE category = ? AND scope = ? AND user = ?')
    this.#forget = database.prepare('DELETE FROM counters WHERE category = ? AND scope = ? AND user = ?')
  }

  read(scope: ScopeName, id: string, category: string): CounterRow | undefined {
    const row = this.#read.get(category, SCOPE_NUMBERS[scope], id) as unknown as [Uint8Array, number] | undefined
    if (row === undefined) return undefined
    const [windows, ends] = row
    return { windows, ends }
  }

  /**
   * When a column is set, SQLite rewrites its index entry even if the value stays the same. So `ends` is set only if it changes,
   * which is rare, and the page of the index need not be written.
   * @param before what `read` returned in this transaction
   */
  write(scope: ScopeName, id: string, category: string, { windows, ends }: CounterRow, before?: CounterRow): void {
    const number = SCOPE_NUMBERS[scope]
    if (before?.ends === ends) this.#change.run(windows, category, number, id)
    else this.#write.run(category, number, id, windows, ends)
  }

  /** Writes something, because a full disk accepts everything that writes nothing. @throws Error if nothing can be written */
  tryToWrite(): void {
    this.#write.run(NO_CATEGORY, 0, '', pack([]), 0)
    this.#forget.run(NO_CATEGORY, 0, '')
  }
}

/** A counter with its owner. */
export interface OwnedCounter {
  /** The user or the organisation. */
  readonly user: string
  readonly category: string
  /** The windows, as `pack` writes them. */
  readonly windows: Uint8Array
}

/**
 * The counters of the next owners behind an id. The text contains the number of the scope, because SQLite uses a partial index only then.
 * @param most how many owners
 */
export function someCounters(database: DatabaseSync, scope: number, most: number): StatementSync {
  return database.prepare(
    `SELECT user, category, windows FROM counters WHERE scope = ${scope} AND user IN
       (SELECT DISTINCT user FROM counters WHERE scope = ${scope} AND user > ? ORDER BY user LIMIT ${most})
     ORDER BY user`,
  )
}
