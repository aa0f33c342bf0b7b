import { readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

const SCHEMA = readFileSync(new URL('./schema.sql', import.meta.url), 'utf8')

/** The `application_id` of our files: `Toll` in ASCII. */
const PROGRAM = 0x54_6f_6c_6c

/** The `user_version` of files with the tables of schema.sql. It rises with each change of the tables. */
const VERSION = 3

/** This is one statement, so it sees a file that another process is making either still empty or with all its tables. */
const LOOK = `SELECT (SELECT application_id FROM pragma_application_id) AS program,
  (SELECT user_version FROM pragma_user_version) AS version, count(*) AS things FROM sqlite_schema`

/** Checks a file without writing. @throws Error if another program wrote it, or a Tollgate with other tables */
export function recognise(database: DatabaseSync): void {
  const { program, version, things } = database.prepare(LOOK).get() as Record<'program' | 'version' | 'things', number>
  if (program === 0 && version === 0 && things === 0) return
  if (program !== PROGRAM) throw new Error('another program made it')
  if (version !== VERSION)
    throw new Error(`another version of Tollgate made it: its tables are of version ${version}, and not ${VERSION}`)
}

/** Makes the tables in a new file. If this throws, closing the file undoes everything. */
export function makeTables(database: DatabaseSync): void {
  if (isMade(database)) return
  database.exec('BEGIN IMMEDIATE')
  // Asked again under the lock, because two processes may open a new file at the same time.
  if (!isMade(database)) {
    database.exec(`${SCHEMA}; PRAGMA application_id = ${PROGRAM}; PRAGMA user_version = ${VERSION}`)
  }
  database.exec('COMMIT')
}

function isMade(database: DatabaseSync): boolean {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  return version === VERSION
}
