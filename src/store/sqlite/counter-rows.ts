import type { DatabaseSync } from 'node:sqlite'
import { type Counter, endsAt } from '../../quota/counter.ts'
import { pack } from '../packed-value.ts'

/** Of no counter: the configuration allows no such name. */
const NO_CATEGORY = ''

/** The counters as rows. A user of `null` means the global scope. */
export class CounterRows {
  readonly #read
  readonly #write
  readonly #forget

  constructor(database: DatabaseSync) {
    this.#read = database.prepare('SELECT windows FROM counters WHERE category = ? AND scope = ? AND user = ?')
    this.#write = database.prepare(
      `INSERT INTO counters (category, scope, user, windows, ends) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET windows = excluded.windows, ends = excluded.ends`,
    )
    this.#forget = database.prepare('DELETE FROM counters WHERE category = ? AND scope = ? AND user = ?')
  }

  /** @returns the packed windows; `undefined` without a row */
  read(user: string | null, category: string): Uint8Array | undefined {
    const row = this.#read.get(category, user === null ? 1 : 0, user ?? '') as { windows: Uint8Array } | undefined
    return row?.windows
  }

  /** @param windows `counter`, packed */
  write(user: string | null, category: string, counter: Counter, windows: Uint8Array): void {
    this.#write.run(category, user === null ? 1 : 0, user ?? '', windows, endsAt(counter))
  }

  /** A full disk lets everything through that writes nothing. @throws Error if nothing can be written */
  tryToWrite(): void {
    this.#write.run(NO_CATEGORY, 0, '', pack([]), 0)
    this.#forget.run(NO_CATEGORY, 0, '')
  }
}
