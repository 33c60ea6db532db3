"""Attribute Store sync beside a server: a thread that writes, and what it is about (spec: K-01, Y-25)."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dex.engine.sync.service import Sync
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.server")


class Syncing:
    """Writes to the stores of a configuration. `error` is what ended it before its time."""

    def __init__(self, sync: Sync) -> None:
        self._sync = sync
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="dex-sync", daemon=True)
        self.error: str | None = None

    @property
    def state(self) -> str:
        """Whether this process writes (owner), or would once another one ends (standby)."""
        return "owner" if self._sync.is_owner else "standby"

    @property
    def stores(self) -> list[str]:
        """The names of the stores."""
        return self._sync.stores

    def metrics(self) -> str:
        """Give the five metrics of sync in Prometheus' text format."""
        return self._sync.metrics.render()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write meanwhile; what is under way at the end is finished."""
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()

    def _work(self) -> None:
        try:
            self._sync.run(self._stop)
        except DexError as error:
            self.error = str(error)
            _log.error("sync has ended: %s", error)  # the error says all; a traceback helps nobody
        except Exception:  # noqa: BLE001  # readiness and the log tell of it
            self.error = "by a bug; its traceback is in the log"
            _log.exception("sync has ended by a bug")
