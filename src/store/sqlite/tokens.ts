import type { DatabaseSync } from 'node:sqlite'
import type { TokenRecord } from '../../control/tokens.ts'

/** A gateway token as a row. */
export interface TokenRow {
  readonly hash: string
  readonly id: string
  readonly user: string
  readonly name: string
  readonly created_at: number
  readonly expires_at: number | null
  readonly revoked_at: number | null
}

export function tokenOf(row: TokenRow): TokenRecord {
  const { hash, id, user, name, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt } = row
  return { hash, id, user, name, createdAt, expiresAt, revokedAt }
}

/** @param otherwise what to do where the token is there already. Default: an error */
export function insertToken(database: DatabaseSync, otherwise: '' | 'OR REPLACE' = ''): (t: TokenRecord) => void {
  const sql = database.prepare(
    `INSERT ${otherwise} INTO tokens (hash, id, user, name, created_at, expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  return (t) => void sql.run(t.hash, t.id, t.user, t.name, t.createdAt, t.expiresAt, t.revokedAt)
}
