import type { Schema } from '../common/database.ts'

const SCORE = `
  song_id INTEGER NOT NULL,
  level_index INTEGER NOT NULL,
  title TEXT NOT NULL,
  level TEXT NOT NULL,
  level_label TEXT NOT NULL,
  constant INTEGER NOT NULL,             -- tenths: 139 for 13.9
  achievement INTEGER NOT NULL,          -- percent x 10000
  ra INTEGER NOT NULL,
  rate TEXT NOT NULL,
  dx_score INTEGER NOT NULL,
  combo INTEGER NOT NULL,                -- the game's number of the lamp, as in sync
  sync INTEGER NOT NULL,`

const TABLES = `
CREATE TABLE players (
  qq INTEGER PRIMARY KEY,
  nickname TEXT NOT NULL,
  source TEXT NOT NULL,                  -- where the scores are from, as a sync said last
  rating INTEGER NOT NULL,
  old_rating INTEGER NOT NULL,
  new_rating INTEGER NOT NULL,
  play_count INTEGER NOT NULL,
  updated_at INTEGER NOT NULL            -- milliseconds since the epoch
) STRICT;

CREATE TABLE records (
  qq INTEGER NOT NULL,${SCORE}
  mark INTEGER NOT NULL,                 -- how the key came into the snapshot of its player; see records.ts
  PRIMARY KEY (qq, song_id, level_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (                 -- of the last week, so that a late chunk of an old snapshot does no harm
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- rises in the order in which snapshots begin
  qq INTEGER NOT NULL,
  id TEXT NOT NULL,                      -- a UUID for a snapshot that came in one request without an id
  state TEXT NOT NULL,                   -- see protocol.ts
  opened_at INTEGER NOT NULL,
  touched_at INTEGER NOT NULL,           -- when its last chunk came
  chunk_count INTEGER,                   -- null where its chunks have no numbers
  keeps_all INTEGER NOT NULL,            -- 1 where its end deletes nothing
  removed INTEGER NOT NULL,              -- how many scores its end has deleted
  UNIQUE (qq, id)
) STRICT;
CREATE INDEX snapshots_of_player ON snapshots (qq, number);
CREATE INDEX snapshots_by_age ON snapshots (touched_at);

CREATE TABLE snapshot_chunks (
  snapshot INTEGER NOT NULL REFERENCES snapshots ON DELETE CASCADE,
  hash BLOB NOT NULL,                    -- SHA-256 of the records
  chunk_index INTEGER NOT NULL,          -- -1 where none was sent, -2 for a refused chunk that has not come again
  PRIMARY KEY (snapshot, hash, chunk_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE removed_records (           -- what the end of a snapshot has deleted
  snapshot INTEGER NOT NULL REFERENCES snapshots ON DELETE CASCADE,${SCORE}
  PRIMARY KEY (snapshot, song_id, level_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (                   -- the state at the end of each day with a sync
  qq INTEGER NOT NULL,
  date TEXT NOT NULL,                    -- of Asia/Shanghai, as 2026-08-25
  rating INTEGER NOT NULL,
  old_rating INTEGER NOT NULL,
  new_rating INTEGER NOT NULL,
  record_count INTEGER NOT NULL,
  PRIMARY KEY (qq, date)
) STRICT, WITHOUT ROWID;
`

/** `Sync` in ASCII. */
export const SCHEMA: Schema = { program: 0x53796e63, tables: TABLES }
