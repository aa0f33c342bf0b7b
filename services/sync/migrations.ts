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
  `
  ALTER TABLE snapshots RENAME TO last_snapshots;
  ALTER TABLE snapshot_chunks RENAME TO last_chunks;

  CREATE TABLE snapshots (                 -- all of the last days, so that a late chunk of an old one does no harm
    number INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order in which they begin
    qq INTEGER NOT NULL,
    id TEXT NOT NULL,                      -- a UUID for one that came in one request without an id
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
    chunk_index INTEGER NOT NULL,          -- -1 where none was sent
    PRIMARY KEY (snapshot, hash, chunk_index)
  ) STRICT, WITHOUT ROWID;

  -- How many chunks an open one was to have is not known: it is given up.
  INSERT INTO snapshots (qq, id, state, opened_at, touched_at, keeps_all, removed)
    SELECT qq, id, CASE is_open WHEN 1 THEN 'expired' ELSE 'closed' END, touched_at, touched_at, 0, 0 FROM last_snapshots;
  INSERT INTO snapshot_chunks
    SELECT number, hash, chunk_index FROM last_chunks JOIN snapshots USING (qq);
  DROP TABLE last_chunks;
  DROP TABLE last_snapshots;
  `,
  `
  CREATE TABLE removed_records (           -- what the end of a snapshot has deleted
    snapshot INTEGER NOT NULL REFERENCES snapshots ON DELETE CASCADE,
    song_id INTEGER NOT NULL,              -- from here as in records
    level_index INTEGER NOT NULL,
    title TEXT NOT NULL,
    level TEXT NOT NULL,
    level_label TEXT NOT NULL,
    constant INTEGER NOT NULL,
    achievement INTEGER NOT NULL,
    ra INTEGER NOT NULL,
    rate TEXT NOT NULL,
    dx_score INTEGER NOT NULL,
    combo INTEGER NOT NULL,
    sync INTEGER NOT NULL,
    PRIMARY KEY (snapshot, song_id, level_index)
  ) STRICT, WITHOUT ROWID;
  `,
]
