import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { messageOf } from '../../errors.ts'
import { StoreError, type StoreFailure } from '../../quota/quota-store.ts'
import { cureOf } from './cures.ts'
import { plain, type Row } from './rows.ts'
import { makeTables, recognise } from './schema.ts'

/** How long a call waits while another process holds the file, in milliseconds. */
const BUSY_MS = 200
/** The same for opening the file, when the process has nothing else to do. */
const OPEN_MS = 2000
/** How many times to try in consecutive turns of the event loop before pausing. A batch of another process takes less time. */
const QUICK_LOOKS = 20

/**
 * @param toWrite whether a read-only file is an error. SQLite opens such a file while another process has it open
 * @throws Error if the file is no database of ours. The file stays as it is
 */
export function openDatabase(file: string, toWrite = false): DatabaseSync {
  makePrivate(file)
  const database = new DatabaseSync(file, { timeout: OPEN_MS })
  try {
    recognise(database)
    // FAST overwrites deleted content only in pages that are written anyway.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST')
    makeTables(database)
    if (toWrite) insistOnWriting(database)
    // From now on `attempt` waits, because waiting within SQLite would stop the event loop.
    database.exec('PRAGMA busy_timeout = 0')
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

/**
 * Creates the file if it is missing. Only its owner may read it, because it has user ids, the audit and hashes of access keys. SQLite gives
 * the files beside it the same rights. An existing file keeps the rights that its operator gave it.
 */
function makePrivate(file: string): void {
  if (file === ':memory:' || existsSync(file)) return
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch {
    // Opening the database fails next, and app/store-kinds/sqlite.ts adds the cure to its error.
  }
}

/** Tries to write without any effect on the disk. If another process is writing now, the file is not read-only. */
function insistOnWriting(database: DatabaseSync): void {
  try {
    database.exec('BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK')
  } catch (error) {
    if (!isBusy(error)) throw error
  }
}

/** Does the whole work, or nothing if it throws. */
export type Transaction = <T>(work: () => T) => T

/** The file of an embedded store, with its transactions. It prepares each statement once, and finds it again by its text. */
export class SqliteFile {
  readonly database: DatabaseSync
  /** Sees the file as it is at one moment. */
  readonly reading: Transaction
  /** Also keeps other processes from writing meanwhile. */
  readonly writing: Transaction
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.database = database
    this.reading = this.#beginningWith('BEGIN')
    this.writing = this.#beginningWith('BEGIN IMMEDIATE')
  }

  /** @throws as `attempt` */
  read<T>(work: () => T): Promise<T> {
    return attempt(() => this.reading(work))
  }

  /** @throws as `attempt` */
  write<T>(work: () => T): Promise<T> {
    return attempt(() => this.writing(work))
  }

  /** @returns how many rows were changed */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /** Replaces the row with the same key, if there is one. @param row a value for each column */
  put(table: string, row: Readonly<Record<string, SQLInputValue>>): void {
    const names = Object.keys(row)
    const places = names.map(() => '?').join(', ')
    this.run(`INSERT OR REPLACE INTO ${table} (${names.join(', ')}) VALUES (${places})`, ...Object.values(row))
  }

  /** Reads rows so that none spoils the others. A whole number beyond JavaScript's becomes a `bigint`, where node:sqlite would throw. */
  all<R = Row>(sql: string, ...values: SQLInputValue[]): R[] {
    return (this.#statement(sql).all(...values) as Row[]).map(plain) as R[]
  }

  first<R = Row>(sql: string, ...values: SQLInputValue[]): R | undefined {
    const row = this.#statement(sql).get(...values) as Row | undefined
    return row && (plain(row) as R)
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.database.prepare(sql)
      statement.setReadBigInts(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #beginningWith(sql: string): Transaction {
    const [begin, commit, rollback] = [this.#statement(sql), this.#statement('COMMIT'), this.#statement('ROLLBACK')]
    return (work) => {
      begin.run()
      try {
        const result = work()
        commit.run()
        return result
      } catch (error) {
        if (this.database.isTransaction) rollback.run()
        throw error
      }
    }
  }
}

/**
 * Tries again while another process holds the file, and lets other work go on between.
 * @throws StoreError, or a TypeError or RangeError of the work itself, which says nothing about the file
 */
export async function attempt<T>(work: () => T): Promise<T> {
  const until = performance.now() + BUSY_MS
  for (let looks = 0; ; looks++) {
    try {
      return work()
    } catch (error) {
      if (isOwn(error)) throw error
      const failure = storeError(error)
      if (failure.reason !== 'busy' || performance.now() >= until) throw failure
    }
    await (looks < QUICK_LOOKS ? turn() : sleep(1))
  }
}

/** Errors of node:sqlite and of Buffer have a code: they speak of what is stored, as a whole number beyond JavaScript's does. */
function isOwn(error: unknown): boolean {
  return (error instanceof TypeError || error instanceof RangeError) && !('code' in error)
}

/** SQLite rolls a failed transaction back, so nothing was applied, whatever the error. */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const why = messageOf(error)
  const cure = cureOf(why)
  const message = cure === null ? why : `${why}. Cure: ${cure}`
  return new StoreError(`SQLite: ${message}`, reasonOf(error), 'no', error)
}

/** Keyed by the primary result code, the low byte. https://www.sqlite.org/rescode.html */
const REASONS: ReadonlyMap<number, StoreFailure> = new Map([
  [5, 'busy'],
  [6, 'busy'],
  [8, 'readonly'],
  [10, 'disk_error'],
  [13, 'disk_full'],
])

function reasonOf(error: unknown): StoreFailure {
  const { errcode = 0 } = error as { errcode?: number }
  return REASONS.get(errcode & 0xff) ?? 'other'
}

function isBusy(error: unknown): boolean {
  return reasonOf(error) === 'busy'
}
