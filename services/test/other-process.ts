import { DatabaseSync } from 'node:sqlite'
import { atEnd } from '../../test/setup/at-end.ts'

/** Another process at the file of a service. */

/** Keeps the file locked against writes until it commits, or until the test ends. */
export function locked(file: string): DatabaseSync {
  const other = new DatabaseSync(file)
  atEnd(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  return other
}

/** Changes the file, for example to one that the service cannot use any more. */
export function changed(file: string, sql: string): void {
  const other = new DatabaseSync(file)
  other.exec(sql)
  other.close()
}
