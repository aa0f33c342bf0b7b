import type { DatabaseSync } from 'node:sqlite'
import { SCOPE_NAMES, type ScopeName } from '../../quota/charged-scopes.ts'
import { pack } from '../packed-value.ts'

/** Of no counter: the configuration allows no such name. */
const NO_CATEGORY = ''

/** As the column `scope` has them. */
export const SCOPE_NUMBERS = { personal: 0, global: 1, organisation: 2 } as const satisfies Record<ScopeName, number>

export function scopeOf(number: number): ScopeName {
  return SCOPE_NAMES.find((scope) => SCOPE_NUMBERS[scope] === number) ?? 'global'
}

/** What is kept of a counter. */
export interface CounterRow {
  /** Packed. */
  readonly windows: Uint8Array
  /** When the row may be forgotten, in milliseconds since the epoch. */
  readonly ends: number
}

/** The counters as rows. The id is that of the user or the organisation, and empty for everybody. */
export class CounterRows {
  readonly #read
  readonly #write
  readonly #change
  readonly #forget

  constructor(database: DatabaseSync) {
    this.#read = database.prepare('SELECT windows, ends FROM counters WHERE category = ? AND scope = ? AND user = ?')
    // An object of named columns is slow to make, and so is each look into it.
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
   * SQLite deletes and inserts the entry of an index whose column is set, also if the value stays. So the end is set only when it is
   * another one: mostly it stays, and the page of the index need not be written.
   * @param before what `read` returned in this transaction
   */
  write(scope: ScopeName, id: string, category: string, { windows, ends }: CounterRow, before?: CounterRow): void {
    const number = SCOPE_NUMBERS[scope]
    if (before?.ends === ends) this.#change.run(windows, category, number, id)
    else this.#write.run(category, number, id, windows, ends)
  }

  /** A full disk lets everything through that writes nothing. @throws Error if nothing can be written */
  tryToWrite(): void {
    this.#write.run(NO_CATEGORY, 0, '', pack([]), 0)
    this.#forget.run(NO_CATEGORY, 0, '')
  }
}
