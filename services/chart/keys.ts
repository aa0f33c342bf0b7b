import { randomBytes, randomUUID } from 'node:crypto'
import { openDatabase } from '../common/database.ts'
import { sha256 } from '../common/secrets.ts'
import { SCHEMA } from './tables.ts'

/** A key as it is listed. The key itself is not kept. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  /** The beginning of the key. */
  readonly prefix: string
  /** ISO 8601 in UTC. */
  readonly createdAt: string
}

/** A new key, which is shown only this once. */
export interface NewApiKey extends ApiKey {
  readonly key: string
}

/** The keys of clients. Every method throws DatabaseBusy if the database stays locked. */
export interface Keys {
  create(name: string): Promise<NewApiKey>
  /** Lists the keys, oldest first. */
  list(): Promise<ApiKey[]>
  /** Makes a key invalid. @returns whether there was one with that id */
  revoke(id: string): Promise<boolean>
  /** Whether the text is a key that was made and not revoked. */
  isKey(text: string): Promise<boolean>
  close(): void
}

const BEGINNING = 'mk_live_'
/** How many characters after BEGINNING are listed. */
const SHOWN = 3
const RANDOM_BYTES = 24

/** @throws Error if the file cannot be opened as this service's database */
export function openKeys(file: string, clock: () => number, busyTimeout?: number): Keys {
  const db = openDatabase(file, SCHEMA, busyTimeout)
  const insert = db.prepare('INSERT INTO api_keys (id, name, prefix, hash, created_at) VALUES (?, ?, ?, ?, ?)')
  const all = db.prepare('SELECT id, name, prefix, created_at FROM api_keys ORDER BY created_at, rowid')
  const remove = db.prepare('DELETE FROM api_keys WHERE id = ?')
  const byHash = db.prepare('SELECT 1 FROM api_keys WHERE hash = ?')
  return {
    async create(name) {
      const key = BEGINNING + randomBytes(RANDOM_BYTES).toString('base64url')
      const prefix = key.slice(0, BEGINNING.length + SHOWN)
      const id = randomUUID()
      const now = clock()
      await db.write(() => insert.run(id, name, prefix, sha256(key), now))
      return { id, name, key, prefix, createdAt: new Date(now).toISOString() }
    },
    list: () => db.read(() => all.all().map(keyOf)),
    revoke: (id) => db.write(() => remove.run(id).changes > 0),
    // A key is looked up by its hash, so that the time of the look-up says nothing about a key.
    isKey: (text) => db.read(() => byHash.get(sha256(text)) !== undefined),
    close: db.close,
  }
}

function keyOf(row: Record<string, unknown>): ApiKey {
  const { id, name, prefix, created_at } = row as { id: string; name: string; prefix: string; created_at: number }
  return { id, name, prefix, createdAt: new Date(created_at).toISOString() }
}
