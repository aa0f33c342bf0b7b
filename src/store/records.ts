import type { Observer, RecordKind } from '../observe/observation.ts'

/** A list of records in a store, each of which is read by itself: one that somebody else wrote, or that was cut, spoils no other. */
export interface RecordList<Raw, T> {
  /** What a record says. One that cannot be read is reported with its name, and `null`: whoever reads the list leaves it out. */
  read(id: string, raw: Raw): T | null
  /** Those of several that can be read. */
  readAll(records: Iterable<readonly [id: string, raw: Raw]>): T[]
}

export interface RecordListOptions<Raw, T> {
  readonly kind: RecordKind
  /** Where the list is: a key of Redis or the beginning of keys, or a table of SQLite. It names no user. */
  readonly list: string
  /** `null` for what is of another form. It may throw. */
  readonly parse: (raw: Raw, id: string) => T | null
  /** Reads one record anew. `null` or `undefined`: it is gone. */
  readonly look: (id: string) => Raw | null | undefined | Promise<Raw | null | undefined>
}

/** The lists of a store. */
export interface Records {
  list<Raw, T>(options: RecordListOptions<Raw, T>): RecordList<Raw, T>
  /** Whether a record that was reported is there and still cannot be read. @throws StoreError */
  isUnreadable(list: string, id: string): Promise<boolean>
}

/** A name that is longer, as none of ours is, is cut in the report. Its record counts as unreadable until the process ends. */
const LONGEST_ID = 512

/** @param observe is told of a record each time that it cannot be read */
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

/** Whether a parser takes it. */
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
