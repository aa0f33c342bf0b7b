import type { Schema } from '../common/database.ts'

const TABLES = `
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,                  -- the key's beginning, to tell keys apart; of no use to anybody
  hash BLOB NOT NULL UNIQUE,             -- SHA-256 of the key
  created_at INTEGER NOT NULL            -- milliseconds since the epoch
) STRICT;
`

/** `Char` in ASCII. */
export const SCHEMA: Schema = { program: 0x43686172, tables: TABLES }
