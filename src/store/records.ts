import type { Observer, RecordKind } from '../observe/observation.ts'

/** A list of records in a store. Each record is read by itself, so that a damaged or foreign record does not spoil the others. */
export interface RecordList<Raw, T> {
  /** Reads a record. If that fails, the record is reported by its name, and `null` says to leave it out. */
  read(id: string, raw: Raw): T | null
  /** Reads several records, and leaves out those that cannot be read. */
  readAll(records: Iterable<readonly [id: string, raw: Raw]>): T[]
}

export interface RecordListOptions<Raw, T> {
  readonly kind: RecordKind
  /** The place of the list: a key or key prefix in Redis, or a table in SQLite. It contains no user. */
  readonly list: string
  /** Returns `null` for a record of another form. It may throw. */
  readonly parse: (raw: Raw, id: string) => T | null
  /** Reads one record again. `null` or `undefined` mean that it is gone. */
  readonly look: (id: string) => Raw | null | undefined | Promise<Raw | null | undefined>
}

/** The lists of a store. */
export interface Records {
  list<Raw, T>(options: RecordListOptions<Raw, T>): RecordList<Raw, T>
  /** Whether a reported record still exists and still cannot be read. @throws StoreError */
  isUnreadable(list: string, id: string): Promise<boolean>
}

/** A longer name, which none of ours is, is cut in the report. Its record then counts as unreadable until the process ends. */
const LONGEST_ID = 512

/** @param observe is called each time a record cannot be read */
export function createRecords(observe: Observer): Records {
  const looks = new Map<string, (id: string) => Promise<boolean>>()

  function list<Raw, T>({ kind, list, parse, look }: RecordListOptions<Raw, T>): RecordList<Raw, T> {
    function read(id: string, raw: Raw): T | null {
      const record = parsed(parse, raw, id)
      if (record === null) observe({ type: 'unreadable_record', kind, list, id: id.slice(0, LONGEST_ID) })
      return record
    }

    looks.set(list, async (id) => {
      const raw = await look(id)
      return raw !== null && raw !== undefined && parsed(parse, raw, id) === null
    })
    return {
      read,
      readAll(records) {
        const readable: T[] = []
        for (const [id, raw] of records) {
          const record = read(id, raw)
          if (record !== null) readable.push(record)
        }
        return readable
      },
    }
  }

  async function isUnreadable(list: string, id: string): Promise<boolean> {
    return id.length >= LONGEST_ID || ((await looks.get(list)?.(id)) ?? false)
  }

  return { list, isUnreadable }
}

/** Whether the parser accepts a record. */
export function isReadable<Raw, T>(parse: (raw: Raw, id: string) => T | null, raw: Raw): boolean {
  return parsed(parse, raw, '') !== null
}

function parsed<Raw, T>(parse: (raw: Raw, id: string) => T | null, raw: Raw, id: string): T | null {
  try {
    return parse(raw, id)
  } catch {
    return null
  }
}
