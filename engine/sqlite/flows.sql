-- Runs of Flows. `closing` is the outcome of a close that still waits, `graceful` the one that takes effect once no
-- step is left. Times are milliseconds since the epoch.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, flow_id TEXT NOT NULL, type TEXT NOT NULL,
  status TEXT NOT NULL, closing BLOB, graceful BLOB, attribute_stores TEXT NOT NULL, input BLOB NOT NULL,
  output BLOB, error TEXT, request_id TEXT, previous_run_id TEXT, started_at INTEGER NOT NULL, closed_at INTEGER,
  timeout_at INTEGER, timeout_policy TEXT NOT NULL, retry_policy BLOB
);
CREATE INDEX runs_flow_id ON runs (flow_id, id);
CREATE INDEX runs_status ON runs (status, id);
CREATE INDEX runs_type ON runs (type, id);
CREATE INDEX runs_timeout ON runs (timeout_at) WHERE timeout_at IS NOT NULL AND status = 'running';
CREATE INDEX runs_closing ON runs (id) WHERE closing IS NOT NULL;

-- A value is written once; `attributes` says which is the latest. Large values are read faster from a rowid table.
CREATE TABLE flow_values (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE attributes (
  run INTEGER NOT NULL, key TEXT NOT NULL, value_id INTEGER NOT NULL, scalar, PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE INDEX attributes_scalar ON attributes (key, scalar) WHERE scalar IS NOT NULL;

-- One event for each commit of a run. `created_event`, `ended_event` and their like below are numbers of events, from
-- which time travel tells what was there at a moment.
CREATE TABLE history (
  run INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
  detail BLOB NOT NULL, changes BLOB NOT NULL, PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE messages (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL, channel TEXT NOT NULL, data BLOB NOT NULL, at INTEGER NOT NULL,
  created_event INTEGER NOT NULL, ended_event INTEGER
);
CREATE INDEX messages_pending ON messages (run, channel, id) WHERE ended_event IS NULL;
CREATE INDEX messages_run ON messages (run, id);
CREATE TABLE steps (
  run INTEGER NOT NULL, type TEXT NOT NULL, number INTEGER NOT NULL, status TEXT NOT NULL, input BLOB NOT NULL,
  attempt INTEGER NOT NULL, first_attempt_at INTEGER, due_at INTEGER, wait BLOB, met BLOB, local BLOB, error TEXT,
  recovery_error TEXT, created_event INTEGER NOT NULL, wait_event INTEGER, met_event INTEGER, ended_event INTEGER,
  PRIMARY KEY (run, type, number)
) WITHOUT ROWID;
CREATE INDEX steps_due ON steps (due_at) WHERE due_at IS NOT NULL AND ended_event IS NULL;
CREATE INDEX steps_open ON steps (run) WHERE ended_event IS NULL;

-- The outbox of Attribute Store sync: one mark for each store and attribute that it has not been told of, with the
-- position that made it and when it was first made; and what was given up.
CREATE TABLE sync_marks (
  store TEXT NOT NULL, run INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, marked_at INTEGER NOT NULL,
  PRIMARY KEY (store, run, key)
) WITHOUT ROWID;
CREATE INDEX sync_marks_run ON sync_marks (run);
CREATE TABLE sync_drops (
  id INTEGER PRIMARY KEY, store TEXT NOT NULL, run INTEGER NOT NULL, key TEXT NOT NULL, marked_at INTEGER NOT NULL,
  dropped_at INTEGER NOT NULL, reason TEXT NOT NULL
);
-- Writes that failed and are to be tried again; a run of 0 is the whole store. They begin anew with each owner.
CREATE TABLE sync_attempts (
  store TEXT NOT NULL, run INTEGER NOT NULL, attempts INTEGER NOT NULL, statements INTEGER, next_at INTEGER NOT NULL,
  last_error TEXT NOT NULL, PRIMARY KEY (store, run)
) WITHOUT ROWID;

-- Who may write to the stores: one row, its epoch rises with each take-over. And the name of this data directory.
CREATE TABLE sync_lease (
  id INTEGER PRIMARY KEY CHECK (id = 1), cluster_id TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);
