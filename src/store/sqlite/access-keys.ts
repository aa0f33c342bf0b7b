import type { DatabaseSync } from 'node:sqlite'
import type { AccessKeyRecord, AccessKeyStore, AccessKeysStep, FoundAccessKey } from '../../control/access-key-store.ts'
import { accessKeyOf } from '../../control/record-forms.ts'
import type { RecordList, Records } from '../records.ts'
import { attempt, transactions } from './database.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'

/** Access keys as rows. */
export function tokenRecords(database: DatabaseSync, records: Records): RecordList<Row, AccessKeyRecord> {
  const find = rowsOf(database, 'SELECT * FROM tokens WHERE hash = ?')
  return records.list({ kind: 'access_key', list: 'tokens', parse: tokenOf, look: (hash) => find.first(hash) })
}

function tokenOf(row: Row): AccessKeyRecord | null {
  const { hash, id, user, name, plan, organisation, created_at, expires_at, revoked_at, used_at } = row
  const facts = { ...(plan !== null && { plan }), ...(organisation !== null && { organisation }) }
  const times = {
    createdAt: created_at,
    expiresAt: expires_at,
    revokedAt: revoked_at,
    ...(used_at !== null && { usedAt: used_at }),
  }
  return accessKeyOf({ hash, id, user, name, ...facts, ...times }, nameOf(hash))
}

/** Replaces the stored record of an access key. */
export function putToken(database: DatabaseSync): (token: AccessKeyRecord) => void {
  const sql = database.prepare(
    `INSERT OR REPLACE INTO tokens (hash, id, user, name, created_at, expires_at, revoked_at, plan, organisation, used_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ifnull((SELECT used_at FROM tokens WHERE hash = ?1), ?10))`,
  )
  return ({ hash, id, user, name, createdAt, expiresAt, revokedAt, plan = null, organisation = null, usedAt = null }) =>
    void sql.run(hash, id, user, name, createdAt, expiresAt, revokedAt, plan, organisation, usedAt)
}

/** Whether an access key exists and is not revoked. */
export function goodToken(database: DatabaseSync): (hash: string) => boolean {
  const sql = rowsOf(database, 'SELECT 1 FROM tokens WHERE hash = ? AND revoked_at IS NULL')
  return (hash) => sql.first(hash) !== undefined
}

/** How many access keys one step reads. */
const STEP = 500

export function sqliteAccessKeys(database: DatabaseSync, lists: Records): AccessKeyStore {
  const records = tokenRecords(database, lists)
  const sql = {
    find: rowsOf(database, 'SELECT * FROM tokens WHERE id = ?'),
    findByHash: rowsOf(database, 'SELECT * FROM tokens WHERE hash = ?'),
    read: rowsOf(database, `SELECT * FROM tokens WHERE hash > ? ORDER BY hash LIMIT ${STEP}`),
    // Rows with a value that is no time are left. They let nobody in, and an administrator may look at them.
    remove: database.prepare('DELETE FROM tokens WHERE min(ifnull(expires_at, 9e15), ifnull(revoked_at, 9e15)) < ?'),
    use: database.prepare('UPDATE tokens SET used_at = ?1 WHERE hash = ?2 AND ifnull(used_at, 0) < ?1'),
    list: rowsOf(database, 'SELECT * FROM tokens ORDER BY created_at DESC, id'),
  }

  function readable(rows: readonly Row[]): AccessKeyRecord[] {
    return records.readAll(rows.map((row) => [nameOf(row.hash), row]))
  }

  function read(from: string | null): AccessKeysStep {
    const rows = sql.read.all(from ?? '')
    const last = rows.length === STEP ? rows.at(-1)?.hash : null
    // A hash that is no text comes last, and belongs to nobody.
    return { records: readable(rows), next: typeof last === 'string' ? last : null }
  }

  function found(row: Row): FoundAccessKey {
    const hash = nameOf(row.hash)
    return { id: nameOf(row.id), hash, record: records.read(hash, row) }
  }

  const { writing } = transactions(database)
  function noteNow(uses: ReadonlyMap<string, number>): void {
    for (const [hash, at] of uses) sql.use.run(at, hash)
  }

  return {
    findTokens: (ids) => attempt(() => ids.flatMap((id) => sql.find.all(id).map(found))),
    findTokenByHash: (hash) => attempt(() => sql.findByHash.all(hash).map(found)[0] ?? null),
    readTokens: async (from) => attempt(() => read(from)),
    removeTokens: (endedBefore) => attempt(() => void sql.remove.run(endedBefore)),
    noteUses: (uses) => attempt(() => writing(() => noteNow(uses))),
    listTokens: async () => attempt(() => readable(sql.list.all())),
  }
}
