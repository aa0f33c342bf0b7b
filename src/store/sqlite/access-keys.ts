import type { AccessKeyRecord, AccessKeyStore, AccessKeysStep, FoundAccessKey } from '../../control/access-key-store.ts'
import { accessKeyOf } from '../../control/record-forms.ts'
import type { RecordList, Records } from '../records.ts'
import { attempt, type SqliteFile } from './database.ts'
import { named, nameOf, type Row } from './rows.ts'

const FIND = 'SELECT * FROM tokens WHERE hash = ?'

/** Access keys as rows. */
export function tokenRecords(file: SqliteFile, records: Records): RecordList<Row, AccessKeyRecord> {
  return records.list({ kind: 'access_key', list: 'tokens', parse: tokenOf, look: (hash) => file.first(FIND, hash) })
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
export function putToken(file: SqliteFile, record: AccessKeyRecord): void {
  const { hash, id, user, name, createdAt, expiresAt, revokedAt, plan = null, organisation = null } = record
  file.run(
    `INSERT OR REPLACE INTO tokens (hash, id, user, name, created_at, expires_at, revoked_at, plan, organisation, used_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ifnull((SELECT used_at FROM tokens WHERE hash = ?1), ?10))`,
    ...[hash, id, user, name, createdAt, expiresAt, revokedAt, plan, organisation, record.usedAt ?? null],
  )
}

/** Whether an access key exists and is not revoked. */
export function isGoodToken(file: SqliteFile, hash: string): boolean {
  return file.first('SELECT 1 FROM tokens WHERE hash = ? AND revoked_at IS NULL', hash) !== undefined
}

/** How many access keys one step reads. */
const STEP = 500

export function sqliteAccessKeys(file: SqliteFile, lists: Records): AccessKeyStore {
  const records = tokenRecords(file, lists)
  const readable = (rows: readonly Row[]): AccessKeyRecord[] => records.readAll(named(rows, 'hash'))

  function read(from: string | null): AccessKeysStep {
    const rows = file.all(`SELECT * FROM tokens WHERE hash > ? ORDER BY hash LIMIT ${STEP}`, from ?? '')
    const last = rows.length === STEP ? rows.at(-1)?.hash : null
    // A hash that is no text comes last, and belongs to nobody.
    return { records: readable(rows), next: typeof last === 'string' ? last : null }
  }

  function found(row: Row): FoundAccessKey {
    const hash = nameOf(row.hash)
    return { id: nameOf(row.id), hash, record: records.read(hash, row) }
  }

  function noteNow(uses: ReadonlyMap<string, number>): void {
    for (const [hash, at] of uses) {
      file.run('UPDATE tokens SET used_at = ?1 WHERE hash = ?2 AND ifnull(used_at, 0) < ?1', at, hash)
    }
  }

  // Rows with a value that is no time are left. They let nobody in, and an administrator may look at them.
  const remove = 'DELETE FROM tokens WHERE min(ifnull(expires_at, 9e15), ifnull(revoked_at, 9e15)) < ?'
  return {
    findTokens: (ids) =>
      attempt(() => ids.flatMap((id) => file.all('SELECT * FROM tokens WHERE id = ?', id).map(found))),
    findTokenByHash: (hash) => attempt(() => file.all(FIND, hash).map(found)[0] ?? null),
    readTokens: async (from) => attempt(() => read(from)),
    removeTokens: (endedBefore) => attempt(() => void file.run(remove, endedBefore)),
    noteUses: (uses) => file.write(() => noteNow(uses)),
    listTokens: async () => attempt(() => readable(file.all('SELECT * FROM tokens ORDER BY created_at DESC, id'))),
  }
}
