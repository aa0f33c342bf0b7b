CREATE TABLE counters (
  scope INTEGER NOT NULL,
  category TEXT NOT NULL,
  user TEXT NOT NULL,
  windows BLOB NOT NULL,
  ends INTEGER NOT NULL,
  PRIMARY KEY (category, scope, user)
) WITHOUT ROWID;
CREATE INDEX counters_by_end ON counters (ends);
CREATE TABLE failures (
  start INTEGER PRIMARY KEY,
  total INTEGER NOT NULL,
  status0 INTEGER NOT NULL,
  status5xx INTEGER NOT NULL
);
CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) WITHOUT ROWID;
PRAGMA user_version = 1;
