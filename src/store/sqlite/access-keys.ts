import type { DatabaseSync } from 'node:sqlite'
import type {
  AccessKeyRecord,
  AccessKeyStore,
  AccessKeysStep,
  FoundAccessKey,
} from '../../control/access-key-record.ts'
import { attempt } from './database.ts'

/** An access key as a row. */
export interface TokenRow {
  readonly hash: string
  readonly id: string
  readonly user: string
  readonly name: string
  readonly created_at: number
  readonly expires_at: number | null
  readonly revoked_at: number | null
  readonly plan: string | null
  readonly organisation: string | null
}

export function tokenOf(row: TokenRow): AccessKeyRecord {
  const { hash, id, user, name, plan, organisation, created_at, expires_at, revoked_at } = row
  const facts = { ...(plan !== null && { plan }), ...(organisation !== null && { organisation }) }
  return { hash, id, user, name, ...facts, createdAt: created_at, expiresAt: expires_at, revokedAt: revoked_at }
}

/** Puts a record in the place of what is kept of the access key. */
export function putToken(database: DatabaseSync): (token: AccessKeyRecord) => void {
  const sql = database.prepare(
    `INSERT OR REPLACE INTO tokens (hash, id, user, name, created_at, expires_at, revoked_at, plan, organisation)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return ({ hash, id, user, name, createdAt, expiresAt, revokedAt, plan = null, organisation = null }) =>
    void sql.run(hash, id, user, name, createdAt, expiresAt, revokedAt, plan, organisation)
}

/** Access keys that one step reads. */
const STEP = 500

export function sqliteAccessKeys(database: DatabaseSync): AccessKeyStore {
  const sql = {
    find: database.prepare('SELECT * FROM tokens WHERE id = ?'),
    findByHash: database.prepare('SELECT * FROM tokens WHERE hash = ?'),
    read: database.prepare(`SELECT * FROM tokens WHERE hash > ? ORDER BY hash LIMIT ${STEP}`),
    list: database.prepare('SELECT * FROM tokens ORDER BY created_at DESC, id'),
  }

  function read(from: string | null): AccessKeysStep {
    const records = (sql.read.all(from ?? '') as unknown as TokenRow[]).map(tokenOf)
    return { records, next: records.length === STEP ? (records.at(-1)?.hash ?? null) : null }
  }

  return {
    findTokens: (ids) => attempt(() => ids.flatMap((id) => (sql.find.all(id) as unknown as TokenRow[]).map(found))),
    findTokenByHash: (hash) => attempt(() => (sql.findByHash.all(hash) as unknown as TokenRow[]).map(found)[0] ?? null),
    readTokens: async (from) => attempt(() => read(from)),
    listTokens: async () => attempt(() => (sql.list.all() as unknown as TokenRow[]).map(tokenOf)),
  }
}

function found(row: TokenRow): FoundAccessKey {
  return { id: row.id, hash: row.hash, record: tokenOf(row) }
}
