"""The reference for a locked RPC: what one would write by hand with `sqlite3` and msgspec to append to a chunk.

Same pragmas, same durability and the same journal; one blob for each value, overwritten in place, and nothing that
time travel, locks between processes or a search would need.
"""

import sqlite3
import time
from pathlib import Path

import msgspec

from dex.samples.chunked_subscribers import Subscriber, SubscriberArchiveState
from tests.bench.raw import PRAGMAS

_SCHEMA = """
PRAGMA journal_mode=WAL;
CREATE TABLE journal (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, record BLOB NOT NULL);
CREATE TABLE attributes (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, data BLOB NOT NULL);
"""
_READ = "SELECT data FROM attributes WHERE key = ?"
_WRITE = "INSERT INTO attributes (key, data) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET data = excluded.data"
_JOURNAL = "INSERT INTO journal (at, record) VALUES (?, ?)"

_encode = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(SubscriberArchiveState).decode
_decode_chunk = msgspec.msgpack.Decoder(list[Subscriber]).decode


class RawChunks:
    """Chunks of subscribers by their tokens, and the state of the list."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(_SCHEMA + PRAGMAS)

    def put(self, state: SubscriberArchiveState, chunks: dict[str, list[Subscriber]]) -> None:
        """Write values in one commit."""
        values = {"state": _encode(state)} | {token: _encode(chunk) for token, chunk in chunks.items()}
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(_WRITE, values.items())
        self._connection.execute("COMMIT")

    def append(self, token: str, subscriber_id: str, delivery_address: str) -> Subscriber:
        """Append a subscriber to a chunk whose oldest leaves it, in a commit of its own."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        state = _decode_state(execute(_READ, ("state",)).fetchone()[0])
        chunk = _decode_chunk(execute(_READ, (token,)).fetchone()[0])
        added = Subscriber(state.next_sequence, subscriber_id, delivery_address)
        new_state = _encode(SubscriberArchiveState(added.sequence + 1, state.newest_archived_token))
        new_chunk = _encode([*chunk[1:], added])
        execute(_JOURNAL, (time.time_ns() // 1_000_000, _encode((new_state, new_chunk))))
        execute(_WRITE, ("state", new_state))
        execute(_WRITE, (token, new_chunk))
        execute("COMMIT")
        return added

    def chunk(self, token: str) -> list[Subscriber]:
        """Read a chunk."""
        return _decode_chunk(self._connection.execute(_READ, (token,)).fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
