import type { Schema } from '../common/database.ts'

const TABLES = `
CREATE TABLE players (
  player INTEGER PRIMARY KEY,            -- the userId in responses
  user TEXT NOT NULL UNIQUE,             -- the gateway's user
  profile TEXT NOT NULL DEFAULT '{}',    -- JSON: the data that no endpoint writes
  rating INTEGER NOT NULL DEFAULT 0,
  old_rating INTEGER NOT NULL DEFAULT 0,
  new_rating INTEGER NOT NULL DEFAULT 0,
  highest_rating INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE scores (
  player INTEGER NOT NULL REFERENCES players,
  music_id INTEGER NOT NULL,
  level INTEGER NOT NULL,
  play_count INTEGER NOT NULL,
  achievement INTEGER NOT NULL,          -- percent x 10000
  combo_status INTEGER NOT NULL,
  sync_status INTEGER NOT NULL,
  dx_score INTEGER NOT NULL,
  PRIMARY KEY (player, music_id, level)
) STRICT, WITHOUT ROWID;

CREATE TABLE tickets (
  player INTEGER NOT NULL REFERENCES players,
  charge_id INTEGER NOT NULL,
  stock INTEGER NOT NULL,
  purchased_at INTEGER NOT NULL,         -- milliseconds since the epoch
  valid_until INTEGER NOT NULL,
  PRIMARY KEY (player, charge_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE free_tickets (
  player INTEGER NOT NULL REFERENCES players,
  charge_id INTEGER NOT NULL,
  stock INTEGER NOT NULL,
  PRIMARY KEY (player, charge_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE purchases (                 -- responses kept for an Idempotency-Key
  player INTEGER NOT NULL REFERENCES players,
  key TEXT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  PRIMARY KEY (player, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX purchases_by_age ON purchases (made_at);

CREATE TABLE items (
  player INTEGER NOT NULL REFERENCES players,
  kind INTEGER NOT NULL,
  item INTEGER NOT NULL,
  stock INTEGER NOT NULL,
  valid INTEGER NOT NULL,
  PRIMARY KEY (player, kind, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE gates (
  player INTEGER NOT NULL REFERENCES players,
  gate INTEGER NOT NULL,
  status TEXT NOT NULL,                  -- JSON: the Gate as imported, with the date of its first clear
  PRIMARY KEY (player, gate)
) STRICT, WITHOUT ROWID;

CREATE TABLE regions (
  player INTEGER NOT NULL REFERENCES players,
  region INTEGER NOT NULL,
  play_count INTEGER NOT NULL,
  created TEXT NOT NULL,
  PRIMARY KEY (player, region)
) STRICT, WITHOUT ROWID;
`

/** `Scor` in ASCII. */
export const SCHEMA: Schema = { program: 0x53636f72, tables: TABLES }
