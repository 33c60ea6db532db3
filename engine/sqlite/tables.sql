-- Every committed mutation. `total` is the sum of record sizes so far, so that a size is two look-ups; `at` is in
-- milliseconds since the epoch, as are all times.
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, total INTEGER NOT NULL, record BLOB NOT NULL
);

-- Definitions of stores and feeds. `catalog.version` rises with each change, so that caches know. The rows of a store
-- and the records of a feed are in tables of their own, made with it.
CREATE TABLE catalog (id INTEGER PRIMARY KEY, version INTEGER NOT NULL);
INSERT INTO catalog (id, version) VALUES (1, 0);
CREATE TABLE feeds (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dropped INTEGER NOT NULL, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE TABLE stores (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, feed_id INTEGER, keys TEXT NOT NULL, dropped INTEGER NOT NULL,
  generation INTEGER NOT NULL, next_generation INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);

-- What became of each mutation that carried an id; `scope` is the store or feed it was sent to.
CREATE TABLE outcomes (
  seq INTEGER PRIMARY KEY, scope INTEGER NOT NULL, mutation_id TEXT NOT NULL, at INTEGER NOT NULL,
  digest BLOB NOT NULL, outcome BLOB NOT NULL, UNIQUE (scope, mutation_id)
);

-- How far each table of a feed-sourced store has come: its last feed position, and rows that lost a posting.
CREATE TABLE progress (table_name TEXT PRIMARY KEY, cursor INTEGER NOT NULL, unique_conflicts INTEGER NOT NULL);

-- Tables that nobody reads any more, to be emptied in bounded passes and dropped.
CREATE TABLE garbage (table_name TEXT PRIMARY KEY);
