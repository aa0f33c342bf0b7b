import type { SQLOutputValue } from 'node:sqlite'

/** A row of SQLite. A column may hold any value, whatever type it is declared with. */
export type Row = Readonly<Record<string, SQLOutputValue>>

/** Turns each `bigint` of a row into a number, if JavaScript has that number. */
export function plain(row: Row): Row {
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

/** Rows with their names, for a list of records. @param key the column of the name */
export function named(rows: readonly Row[], key: string): (readonly [string, Row])[] {
  return rows.map((row) => [nameOf(row[key]), row])
}
