-- The tables of the embedded store. Times are milliseconds since the epoch on the store's clock.

CREATE TABLE counters (
  scope INTEGER NOT NULL,      -- 0 personal, 1 global, 2 organisation
  category TEXT NOT NULL,
  user TEXT NOT NULL,          -- the id of the user or organisation; empty for the global scope
  windows BLOB NOT NULL,       -- see ../packed-value.ts
  ends INTEGER NOT NULL,       -- when the row may be deleted, because its last run need not be kept any more
  PRIMARY KEY (category, scope, user)
) WITHOUT ROWID;
CREATE INDEX counters_by_end ON counters (ends);
CREATE INDEX counters_by_user ON counters (user) WHERE scope = 0;
CREATE INDEX counters_by_organisation ON counters (user) WHERE scope = 2;

-- With a rowid, because otherwise a row of a kilobyte would continue in a page of its own.
CREATE TABLE history (
  scope INTEGER NOT NULL,      -- as in counters: 0 personal, 2 organisation
  user TEXT NOT NULL,          -- the id of the user or organisation
  runs BLOB NOT NULL,          -- see ../packed-history.ts
  ends INTEGER NOT NULL,       -- when the last run need not be kept any more
  UNIQUE (scope, user)
);
CREATE INDEX history_by_end ON history (ends);

CREATE TABLE counted (
  name TEXT PRIMARY KEY,       -- the name of a window, see countedName of ../../quota/books.ts
  since INTEGER NOT NULL       -- since when it is counted
) WITHOUT ROWID;

CREATE TABLE kept (            -- for how long runs are kept, see KeptSince of ../../quota/history-store.ts
  name TEXT PRIMARY KEY,
  seconds INTEGER NOT NULL,
  least INTEGER NOT NULL,
  changed INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE endings (          -- lists whose entries expire by themselves, see ../endings.ts
  list TEXT NOT NULL,
  id TEXT NOT NULL,
  text TEXT NOT NULL,
  ends INTEGER NOT NULL,       -- when the entry is forgotten
  PRIMARY KEY (list, id)
) WITHOUT ROWID;
CREATE INDEX endings_by_end ON endings (ends);

CREATE TABLE forgotten_salt (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  salt TEXT NOT NULL,          -- hexadecimal
  ends INTEGER NOT NULL        -- the end of the last row of forgotten
);
CREATE TABLE forgotten (       -- users who were forgotten, see forgotten.ts
  digest TEXT NOT NULL,        -- SHA-1 of salt, colon and user
  category TEXT NOT NULL,      -- empty in the row that says when the user was forgotten
  windows BLOB NOT NULL,       -- windows that ran then, see ../packed-value.ts
  since INTEGER NOT NULL,      -- when the user was forgotten
  ends INTEGER NOT NULL,       -- when the row may be deleted
  PRIMARY KEY (digest, category)
) WITHOUT ROWID;
CREATE INDEX forgotten_by_end ON forgotten (ends);

CREATE TABLE failures (
  start INTEGER PRIMARY KEY,   -- the start of the half hour
  total INTEGER NOT NULL,
  status0 INTEGER NOT NULL,
  status5xx INTEGER NOT NULL,
  status4xx INTEGER NOT NULL,
  aside INTEGER NOT NULL,
  aside_failed INTEGER NOT NULL
);

CREATE TABLE series (
  kind TEXT NOT NULL,          -- all, category, plan, route
  zone TEXT NOT NULL,          -- zone of a day; empty for a half hour
  start INTEGER NOT NULL,      -- the start of the half hour, or of the day
  name TEXT NOT NULL,
  counts TEXT NOT NULL,        -- see ../../usage/series.ts
  PRIMARY KEY (kind, zone, start, name)
) WITHOUT ROWID;
CREATE INDEX series_by_start ON series (start);

CREATE TABLE refusals (
  id TEXT PRIMARY KEY,
  last INTEGER NOT NULL,       -- the time of the last refusal
  episode TEXT NOT NULL        -- JSON
) WITHOUT ROWID;
CREATE INDEX refusals_by_last ON refusals (last, id);

CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  plan TEXT,
  organisation TEXT,
  used_at INTEGER              -- to within some minutes; NULL for never
) WITHOUT ROWID;

CREATE TABLE settings (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL,
  value TEXT NOT NULL          -- JSON
);

CREATE TABLE overrides (
  edition INTEGER NOT NULL,
  user TEXT NOT NULL,
  version INTEGER NOT NULL,
  value TEXT NOT NULL,         -- JSON
  PRIMARY KEY (edition, user)
) WITHOUT ROWID;
CREATE TABLE editions (        -- editions of the overrides
  edition INTEGER PRIMARY KEY,
  staged TEXT UNIQUE,          -- the name under which it is filled, or kept for an undo; NULL for the one in force
  size INTEGER NOT NULL,       -- how many overrides were staged
  ends INTEGER                 -- when the edition is forgotten; NULL for the one in force
);
INSERT INTO editions VALUES (1, NULL, 0, NULL);

CREATE TABLE organisation_overrides (
  edition INTEGER NOT NULL,
  organisation TEXT NOT NULL,
  version INTEGER NOT NULL,
  value TEXT NOT NULL,          -- JSON
  PRIMARY KEY (edition, organisation)
) WITHOUT ROWID;

CREATE TABLE grants (
  id TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  value TEXT NOT NULL          -- JSON
) WITHOUT ROWID;

CREATE TABLE audit (
  version INTEGER PRIMARY KEY, -- the highest is the number of the last change
  at INTEGER NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  subject TEXT,
  before TEXT NOT NULL,        -- JSON
  after TEXT NOT NULL,         -- JSON
  why TEXT,
  vain TEXT                    -- JSON
);

CREATE TABLE guard_counts (
  guard TEXT NOT NULL,
  instance TEXT NOT NULL,      -- the process that has counted
  requests REAL NOT NULL,
  refused REAL NOT NULL,
  PRIMARY KEY (guard, instance)
) WITHOUT ROWID;

CREATE TABLE replicas (
  instance TEXT PRIMARY KEY,
  at INTEGER NOT NULL,         -- the time of its last report
  told TEXT NOT NULL           -- JSON of its report
) WITHOUT ROWID;

CREATE TABLE silences (        -- processes that disappeared
  instance TEXT PRIMARY KEY,
  since INTEGER NOT NULL,      -- the time from which its counts may be missing
  until INTEGER NOT NULL       -- when the process was forgotten
) WITHOUT ROWID;

CREATE TABLE alert_events (
  id TEXT PRIMARY KEY,
  alert TEXT NOT NULL,
  happening TEXT NOT NULL,     -- JSON
  state TEXT NOT NULL,
  raised INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  due INTEGER,                 -- when to try a pending event
  done INTEGER,                -- when it was delivered or given up
  error TEXT                   -- why the last attempt failed
) WITHOUT ROWID;
CREATE INDEX alert_events_due ON alert_events (alert, due) WHERE due IS NOT NULL;
CREATE INDEX alert_events_by_time ON alert_events (alert, raised);

CREATE TABLE alert_targets (
  alert TEXT PRIMARY KEY,      -- alerts that have or had pending events
  target TEXT NOT NULL         -- address of its events, hashed
) WITHOUT ROWID;
