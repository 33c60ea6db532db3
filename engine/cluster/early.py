"""Applying what was just sent before it comes back: while the journal servers write it, its node has nothing to do.

That is done in a transaction that stays open. It is committed if the stream gives that very message as the next, and
undone otherwise: the order is the stream's alone.
"""

import asyncio
import sqlite3
import time
from typing import NamedTuple

from dex.engine import catalog, journal
from dex.engine.cluster.applying import Applied, apply_messages
from dex.engine.cluster.messages import Committed
from dex.engine.writer import Held, Writer

# Whoever else wants to write the file waits meanwhile.
_PATIENCE_SECONDS = 0.05
# After a miss the next is likely to be one, too: other nodes write, or the disks are slow.
_REST_SECONDS = 1.0


class Ready(NamedTuple):
    """A message that was applied early, and what came of it, once `held` is committed."""

    message: Committed
    applied: Applied
    held: Held
    timer: asyncio.TimerHandle


class Early:
    """Applies messages of a stream early, one at a time. For the thread of `loop` alone, which applies the others."""

    def __init__(self, writer: Writer, stream: str, loop: asyncio.AbstractEventLoop) -> None:
        self._writer = writer
        self._stream = stream
        self._loop = loop
        self._ready: Ready | None = None
        self._rests_until = 0.0

    def begin(self, message: Committed) -> None:
        """Apply the message that is likely to come next, unless somebody else writes the file now."""
        if self._ready is not None or time.monotonic() < self._rests_until:
            return
        found: list[Applied] = []

        def work(connection: sqlite3.Connection, known: catalog.Catalog, head: journal.Head) -> bool:
            found.append(apply_messages(connection, known, head, [message], self._stream))
            return False

        held = self._writer.hold(work)
        if held is not None:
            self._ready = Ready(message, found[0], held, self._loop.call_later(_PATIENCE_SECONDS, self._miss))

    def take(self, message: Committed) -> Ready | None:
        """Give what was applied early if that is the message that has come now; undo it otherwise."""
        ready = self._ready
        if ready is None:
            return None
        expected = ready.message
        if (expected.seq, expected.message_id, expected.at) != (message.seq, message.message_id, message.at):
            self._miss()
            return None
        self._ready = None
        ready.timer.cancel()
        return ready

    def close(self) -> None:
        """Undo what waits still."""
        self._miss()

    def _miss(self) -> None:
        ready, self._ready = self._ready, None
        self._rests_until = time.monotonic() + _REST_SECONDS
        if ready is not None:
            ready.timer.cancel()
            ready.held.undo()
