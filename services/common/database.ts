import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

/** Another process has kept the database locked for too long. Nothing was done. */
export class DatabaseBusy extends Error {
  override readonly name = 'DatabaseBusy'
}

export interface Database {
  prepare(sql: string): StatementSync
  /** Runs `work`, which must not await, on one state of the data. @throws DatabaseBusy */
  read<T>(work: () => T): Promise<T>
  /** Runs `work`, which must not await, as one transaction: all of it or, when it throws, nothing. @throws DatabaseBusy */
  write<T>(work: () => T): Promise<T>
  close(): void
}

/** The form of the files of one service. */
export interface Schema {
  /** The `application_id` of the files, four letters of ASCII. */
  readonly program: number
  /** The statements that create the tables in an empty file. */
  readonly tables: string
}

const SQLITE_BUSY = 5
/** The `user_version` of a file whose tables have been created. */
const VERSION = 1
const RETRY_MS = 20

/**
 * Opens the file, and creates it if there is none.
 * @param busyTimeout how long a transaction waits for a lock of another process, in milliseconds
 * @throws Error if the file cannot be opened, has a newer version, or was made by another program or service; the last stays as it is
 */
export function openDatabase(file: string, schema: Schema, busyTimeout = 5000): Database {
  const db = opened(file, schema, busyTimeout)
  return {
    prepare: (sql) => db.prepare(sql),
    read: (work) => patiently(() => transaction(db, 'BEGIN', work), busyTimeout),
    write: (work) => patiently(() => transaction(db, 'BEGIN IMMEDIATE', work), busyTimeout),
    close: () => db.close(),
  }
}

function opened(file: string, schema: Schema, busyTimeout: number): DatabaseSync {
  let db: DatabaseSync | null = null
  try {
    db = new DatabaseSync(file, { timeout: busyTimeout })
    recognise(db, schema)
    // FULL: what was committed, for example a sold ticket, is still there after a power cut.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    makeTables(db, schema)
    // SQLite would block the one thread while it waits for a lock. From here on patiently() waits instead.
    db.exec('PRAGMA busy_timeout = 0')
    return db
  } catch (cause) {
    db?.close()
    const why = cause instanceof Error ? cause.message : String(cause)
    const cure = 'name a file of this service in a folder that exists and can be written'
    throw new Error(`cannot open ${file} (${why}): ${cure}`, { cause })
  }
}

/** One statement, so that it sees a file which another process is creating either empty or complete. */
const LOOK = `SELECT (SELECT application_id FROM pragma_application_id) AS maker, count(*) AS things FROM sqlite_schema`

function recognise(db: DatabaseSync, { program }: Schema): void {
  const { maker, things } = db.prepare(LOOK).get() as Record<'maker' | 'things', number>
  if (maker !== program && things > 0) throw new Error('another program made it')
}

function makeTables(db: DatabaseSync, { program, tables }: Schema): void {
  transaction(db, 'BEGIN IMMEDIATE', () => {
    const version = Number(db.prepare('PRAGMA user_version').get()?.user_version)
    if (version > VERSION) throw new Error(`the database has version ${version}, newer than this program`)
    if (version < VERSION) {
      db.exec(`${tables}; PRAGMA application_id = ${program}; PRAGMA user_version = ${VERSION}`)
    }
  })
}

function transaction<T>(db: DatabaseSync, begin: string, work: () => T): T {
  db.exec(begin)
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

async function patiently<T>(attempt: () => T, timeout: number): Promise<T> {
  const deadline = performance.now() + timeout
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline) throw new DatabaseBusy('the database is locked', { cause: error })
      await sleep(RETRY_MS)
    }
  }
}

/** The low byte is the kind. The rest distinguishes variants such as SQLITE_BUSY_SNAPSHOT. */
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' && (code & 0xff) === SQLITE_BUSY
}
