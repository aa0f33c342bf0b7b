import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'

/** A row of SQLite. A column may hold any value, whatever type it is declared with. */
export type Row = Readonly<Record<string, SQLOutputValue>>

/** The rows of a query. */
export interface RowQuery {
  all(...values: SQLInputValue[]): Row[]
  first(...values: SQLInputValue[]): Row | undefined
  /** Reads row by row. */
  each(...values: SQLInputValue[]): Iterable<Row>
}

/** Reads rows so that none spoils the others: a whole number beyond JavaScript's becomes a `bigint`, where node:sqlite would throw. */
export function rowsOf(database: DatabaseSync, sql: string): RowQuery {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return {
    all: (...values) => (statement.all(...values) as Row[]).map(plain),
    first: (...values) => {
      const row = statement.get(...values) as Row | undefined
      return row === undefined ? undefined : plain(row)
    },
    *each(...values) {
      for (const row of statement.iterate(...values)) yield plain(row as Row)
    },
  }
}

function plain(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, small(value)]))
}

function small(value: SQLOutputValue): SQLOutputValue {
  const isSmall = typeof value === 'bigint' && value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER
  return isSmall ? Number(value) : value
}

/** A value as the name of a record. */
export function nameOf(value: SQLOutputValue | undefined): string {
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : String(value)
}
