import type { DatabaseSync } from 'node:sqlite'
import { SCOPE_NAMES, type ScopeName } from '../../quota/charge.ts'
import { pack } from '../packed-value.ts'

/** Of no counter: the configuration allows no such name. */
const NO_CATEGORY = ''

/** As the column `scope` has them. */
export const SCOPE_NUMBERS = { personal: 0, global: 1, organisation: 2 } as const satisfies Record<ScopeName, number>

export function scopeOf(number: number): ScopeName {
  return SCOPE_NAMES.find((scope) => SCOPE_NUMBERS[scope] === number) ?? 'global'
}

/** The counters as rows. The id is that of the user or the organisation, and empty for everybody. */
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
  read(scope: ScopeName, id: string, category: string): Uint8Array | undefined {
    const row = this.#read.get(category, SCOPE_NUMBERS[scope], id) as { windows: Uint8Array } | undefined
    return row?.windows
  }

  /** @param windows packed @param ends when the row may be forgotten, in milliseconds since the epoch */
  write(scope: ScopeName, id: string, category: string, windows: Uint8Array, ends: number): void {
    this.#write.run(category, SCOPE_NUMBERS[scope], id, windows, ends)
  }

  /** A full disk lets everything through that writes nothing. @throws Error if nothing can be written */
  tryToWrite(): void {
    this.#write.run(NO_CATEGORY, 0, '', pack([]), 0)
    this.#forget.run(NO_CATEGORY, 0, '')
  }
}
