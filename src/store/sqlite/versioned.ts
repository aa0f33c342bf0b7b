import type { Versioned } from '../../control/state.ts'
import type { RecordKind } from '../../observe/observation.ts'
import type { OverridesStep } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import type { SqliteFile } from './database.ts'
import { nameOf, type Row } from './rows.ts'

/** Rows that one step reads. */
const STEP = 500

/** A table of values by a name, each as JSON with the number of the change that set it. */
interface VersionedTable<T> {
  readonly kind: RecordKind
  readonly table: string
  /** The column with the name. */
  readonly key: string
  readonly parse: (value: unknown) => T | null
  /** SQL for the edition in force, of a table that has several. */
  readonly edition?: string
}

/** Reads and writes the rows of such a table. Call the functions within a transaction if several of them belong together. */
export function versionedRows<T>(
  file: SqliteFile,
  records: Records,
  { kind, table, key, parse, edition }: VersionedTable<T>,
) {
  const [column, place, where] =
    edition === undefined ? ['', '', ''] : ['edition, ', `${edition}, `, `edition = ${edition} AND `]
  const find = (id: string): Row | undefined =>
    file.first(`SELECT version, value FROM ${table} WHERE ${where}${key} = ?`, id)
  const list = records.list({ kind, list: table, parse: versionedBy(parse), look: find })

  function readable(rows: readonly Row[]): [id: string, value: Versioned<T>][] {
    return rows.flatMap((row) => {
      const value = list.read(nameOf(row.id), row)
      return value === null ? [] : [[nameOf(row.id), value] as [string, Versioned<T>]]
    })
  }

  return {
    /** The value of a name, in the edition in force; `null` if it is missing or cannot be read. */
    one(id: string): Versioned<T> | null {
      const row = find(id)
      return row === undefined ? null : list.read(id, row)
    },
    /** @param from where the last step ended; `null` begins @param other another edition than the one in force */
    step(from: string | null, other?: number): OverridesStep<T> {
      const of = other === undefined ? where : 'edition = ? AND '
      const rows = file.all(
        `SELECT ${key} AS id, version, value FROM ${table} WHERE ${of}${key} > ? ORDER BY ${key} LIMIT ${STEP}`,
        ...[...(other === undefined ? [] : [other]), from ?? ''],
      )
      const last = rows.length === STEP ? rows.at(-1)?.id : null
      return { overrides: readable(rows), next: typeof last === 'string' ? last : null }
    },
    /** Leaves out rows that cannot be read. */
    readable,
    /** @param json `null` deletes the row */
    put(id: string, version: number, json: string | null): void {
      if (json === null) file.run(`DELETE FROM ${table} WHERE ${where}${key} = ?`, id)
      else {
        const values = `(${column}${key}, version, value) VALUES (${place}?, ?, ?)`
        file.run(`INSERT OR REPLACE INTO ${table} ${values}`, id, version, json)
      }
    },
  }
}

/** Reads a row with the version and the JSON of a value. */
export function versionedBy<T>(parse: (value: unknown) => T | null): (row: Row) => Versioned<T> | null {
  return ({ version, value: text }) => {
    const value = typeof version === 'number' ? parse(jsonIn(text)) : null
    return value === null ? null : { version: version as number, value }
  }
}

/** @throws SyntaxError */
export function jsonIn(text: Row[string] | undefined): unknown {
  return JSON.parse(String(text))
}
