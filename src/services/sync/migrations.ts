/** The steps from an empty file to the present schema; `user_version` counts those done. Steps are added, never changed. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE players (
    qq INTEGER PRIMARY KEY,
    nickname TEXT NOT NULL,
    source TEXT NOT NULL,                  -- where the last sync had its scores from
    rating INTEGER NOT NULL,
    old_rating INTEGER NOT NULL,
    new_rating INTEGER NOT NULL,
    play_count INTEGER NOT NULL,
    updated_at INTEGER NOT NULL            -- milliseconds since the epoch
  ) STRICT;

  CREATE TABLE records (
    qq INTEGER NOT NULL,
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
    combo INTEGER NOT NULL,                -- the game's numbers
    sync INTEGER NOT NULL,
    mark INTEGER NOT NULL,                 -- how the key came into the snapshot of its player; see records.ts
    PRIMARY KEY (qq, song_id, level_index)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE snapshots (                 -- the last one of each player
    qq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    touched_at INTEGER NOT NULL            -- when its last chunk came
  ) STRICT;

  CREATE TABLE snapshot_chunks (           -- those of that snapshot
    qq INTEGER NOT NULL,
    hash BLOB NOT NULL,                    -- SHA-256 of the records
    chunk_index INTEGER NOT NULL,          -- -1 where none was sent
    PRIMARY KEY (qq, hash, chunk_index)
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
  `,
]
